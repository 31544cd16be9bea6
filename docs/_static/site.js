// What Sphinx and its theme write that assistive software cannot read.

// A long signature is a list of definitions that define nothing: lines of text instead.
document.querySelectorAll("dt.sig > dl").forEach((list) => {
  const lines = document.createElement("div");
  lines.style.paddingLeft = "2rem";
  for (const parameter of list.querySelectorAll(":scope > dd")) {
    const line = document.createElement("div");
    line.append(...parameter.childNodes);
    lines.append(line);
  }
  list.replaceWith(lines);
});

// What opens a part of the navigation is an arrow without a name.
document.querySelectorAll("nav summary").forEach((summary) => {
  const page = summary.closest("li").querySelector("a").textContent.trim();
  summary.setAttribute("aria-label", `What is below ${page}`);
});
