"""The web application: HTML pages for browsers and a JSON API for programs."""

import asyncio
import hmac
import logging
import os
import secrets
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException as Refusal
from starlette.middleware.sessions import SessionMiddleware
from starlette.staticfiles import StaticFiles

from bsjax import leaderboard
from bsjax.core.discovery import one_line
from bsjax.core.files import cache_dir
from bsjax.core.version import __version__
from bsjax.leaderboard.encoding import templates_in
from bsjax.results import ResultStore
from bsjax.service import views
from bsjax.service.frame import LARGEST_FORM, Framed
from bsjax.service.limits import Limits, Rate
from bsjax.service.uploads import check_length, most_bytes, save_body, save_file, sweep, upload_file
from bsjax.service.watch import watching
from bsjax.submission import protection, queue
from bsjax.submission.accounts import Account, account_of, accounts
from bsjax.submission.handing_in import hand_in

_HERE = Path(__file__).parent
_HALF_A_DAY = 12 * 3600
_ACCOUNTS_OF_ADDRESS = 5
_OWN: dict[str, Callable[[ResultStore, str], None]] = {
    "cancel": queue.cancel,
    "retry": queue.retry,
    "publish": lambda store, submission: queue.show(store, submission, "public"),
    "hide": lambda store, submission: queue.show(store, submission, "private"),
}


def service(
    store: ResultStore,
    *,
    benchmarks: Sequence[str] = ("*",),
    title: str = "Submissions",
    public_url: str = "http://127.0.0.1:8000",
    limits: Limits | None = None,
    mail: str | None = None,
) -> FastAPI:
    """Make the service as an ASGI application.

    Args:
        store: the store of results, which contains the queue and the accounts.
        benchmarks: identifiers and globs of the benchmarks on which models are scored.
        title: title of all pages.
        public_url: URL under which browsers reach the service. If it is https, cookies are sent over https only.
        limits: limits on uploads and sign-ins; by default those of :class:`Limits`.
        mail: SMTP server for notifications, see :func:`bsjax.service.mail.send`; None sends none.

    Raises:
        OSError: ``$BSJAX_HOME`` cannot be written.

    Example:
        >>> import tempfile
        >>> from bsjax.results import ResultStore
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     type(service(store, benchmarks=["Simulated.*"])).__name__
        'FastAPI'
    """
    limits = limits or Limits()
    url, is_encrypted = public_url.rstrip("/"), public_url.startswith("https://")
    wrong, uploads = Rate(600), Rate(3600)
    board = cache_dir().absolute() / "board"
    pages = _pages(title, url)

    @asynccontextmanager
    async def running(app: FastAPI) -> AsyncIterator[None]:
        sweep(limits)
        board.mkdir(parents=True, exist_ok=True)
        with watching(store, board, title, mail, lambda submission: f"{url}/submissions/{submission}"):
            yield

    app = FastAPI(title=title, version=__version__, lifespan=running, docs_url=None, redoc_url=None, openapi_url=None)

    def page(request: Request, name: str, status: int = 200, **values: Any) -> Response:
        given = {"account": getattr(request.state, "who", None), "csrf": _csrf(request), **values}
        return HTMLResponse(pages.get_template(f"{name}.html.j2").render(given), status)

    def by_token(request: Request, token: str) -> Account:
        """Find the account of a token; refused after too many wrong tokens from the same address."""
        address = request.client.host if request.client else ""
        wait = wrong.wait(address, limits.wrong_tokens)
        if wait:
            raise HTTPException(
                429, f"too many wrong tokens: try again in {wait:.0f} s", {"Retry-After": f"{wait:.0f}"}
            )
        found = account_of(store, token)
        if found is None:
            wrong.add(address)
            raise HTTPException(401, "no valid token", {"WWW-Authenticate": "Bearer"})
        return _noted(request, found)

    def by_bearer(request: Request) -> Account:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return by_token(request, token.strip())
        return by_session(request)

    def by_session(request: Request) -> Account:
        number = request.session.get("account")
        found = next((each for each in accounts(store) if each.id == number and each.revoked is None), None)
        if found is None:
            raise HTTPException(401, "sign in, or send a token: Authorization: Bearer TOKEN")
        return _noted(request, found)

    def operator(request: Request) -> Account:
        found = by_session(request)
        if not found.is_operator:
            raise HTTPException(403, "operators only")
        return found

    def submission(account: Account, identifier: str) -> queue.Submission:
        try:
            return views.found_for(store, account, identifier)
        except KeyError:
            raise HTTPException(404, "there is no such submission") from None

    def count_upload(request: Request, account: Account) -> None:
        address = request.client.host if request.client else ""
        most = int(account.limits.get("uploads", limits.uploads))
        # Several accounts of one laboratory may share an address.
        wait = max(uploads.wait(account.id, most), uploads.wait(address, _ACCOUNTS_OF_ADDRESS * limits.uploads))
        if wait:
            raise HTTPException(429, f"too many uploads: try again in {wait:.0f} s", {"Retry-After": f"{wait:.0f}"})
        uploads.add(account.id)
        uploads.add(address)

    def take(path: Path, account: Account, name: str, trust: bool) -> queue.Submission:
        try:
            return hand_in(
                store, path, name=name, account=account.id, benchmarks=benchmarks, asks_trust=trust, once=True
            )
        except ValueError as error:
            raise HTTPException(400, one_line(error).replace(str(path), "it").replace(path.name, "it")) from None

    @app.get("/health")
    def health() -> dict[str, Any]:
        return views.health(store)

    @app.post("/api/submissions", status_code=201)
    async def upload(request: Request, name: str = "submission", trust: bool = False) -> dict[str, Any]:
        # Only by token: a page of another site cannot send this header.
        if not request.headers.get("authorization"):
            raise HTTPException(401, "send a token: Authorization: Bearer TOKEN")
        account = await run_in_threadpool(by_bearer, request)
        count_upload(request, account)
        with upload_file() as path:
            await save_body(request, path, most_bytes(account, limits), limits)
            made = await run_in_threadpool(take, path, account, name, trust)
        return {"id": made.id, "name": made.name, "state": made.state, "url": f"{url}/submissions/{made.id}"}

    @app.get("/api/submissions")
    def listed(account: Account = Depends(by_bearer)) -> list[dict[str, Any]]:
        names = ("id", "name", "state", "since", "visibility", "created")
        return [{name: getattr(each, name) for name in names} for each in queue.submissions(store, account.id)]

    @app.get("/api/submissions/{identifier}")
    def polled(identifier: str, after: str = "", account: Account = Depends(by_bearer)) -> dict[str, Any]:
        plain = views.seen(store, account, submission(account, identifier))
        return {"after": after} if plain["after"] == after else plain

    @app.get("/sign-in")
    def sign_in_page(request: Request) -> Response:
        return page(request, "sign_in", error="")

    @app.post("/sign-in")
    async def sign_in(request: Request) -> Response:
        form = await _form(request)
        try:
            account = await run_in_threadpool(by_token, request, str(form.get("token", "")).strip())
        except HTTPException as refused:
            return page(request, "sign_in", refused.status_code, error=refused.detail)
        request.session.clear()
        request.session["account"] = account.id
        return RedirectResponse("/submissions", 303)

    @app.post("/sign-out")
    async def sign_out(request: Request) -> Response:
        await _form(request)
        request.session.clear()
        return RedirectResponse("/sign-in", 303)

    @app.get("/")
    def first() -> Response:
        return RedirectResponse("/submissions", 303)

    @app.get("/submissions")
    def own(request: Request, account: Account = Depends(by_session)) -> Response:
        return page(request, "list", found=queue.submissions(store, account.id))

    @app.post("/submissions")
    async def upload_by_form(request: Request) -> Response:
        account = await run_in_threadpool(by_session, request)
        if request.headers.get("content-length") is None:
            raise HTTPException(411, "say how long the form is")
        try:
            async with asyncio.timeout(limits.seconds):
                form = await _form(request, most_bytes(account, limits) + LARGEST_FORM)
        except TimeoutError:
            raise HTTPException(408, "too slow: nothing is kept") from None
        file: Any = form.get("file")
        if file is None or isinstance(file, str) or not file.filename:
            raise HTTPException(400, "choose a zip file")
        count_upload(request, account)
        name = str(form.get("name") or "") or str(file.filename).removesuffix(".zip")
        with upload_file() as path:
            await run_in_threadpool(save_file, file.file, path)
            await form.close()
            made = await run_in_threadpool(take, path, account, name, bool(form.get("trust")))
        return RedirectResponse(f"/submissions/{made.id}", 303)

    @app.get("/submissions/{identifier}")
    def shown(request: Request, identifier: str, account: Account = Depends(by_session)) -> Response:
        found = submission(account, identifier)
        is_waiting = account.is_operator and found.state == "waiting"
        changed = views.changes(store, found) if is_waiting else ""
        return page(request, "submission", one=views.seen(store, account, found), reviews=is_waiting, changes=changed)

    @app.get("/submissions/{identifier}/log/{step}")
    def log(identifier: str, step: str, account: Account = Depends(by_session)) -> Response:
        try:
            return PlainTextResponse(views.log_of(store, account, submission(account, identifier), step))
        except KeyError:
            raise HTTPException(404, "there is no such step") from None

    @app.post("/submissions/{identifier}/{action}")
    async def act(request: Request, identifier: str, action: str) -> Response:
        account = await run_in_threadpool(by_session, request)
        form = await _form(request)
        found = await run_in_threadpool(submission, account, identifier)
        try:
            if action in _OWN:
                await run_in_threadpool(_OWN[action], store, found.id)
            elif action in ("accept", "return"):
                if not account.is_operator:
                    raise HTTPException(403, "operators only")
                comment = str(form.get("comment", ""))
                await run_in_threadpool(queue.review, store, found.id, action == "accept", comment)
            else:
                raise HTTPException(404, "there is no such action")
        except ValueError as error:
            raise HTTPException(409, one_line(error)) from None
        return RedirectResponse(f"/submissions/{found.id}", 303)

    @app.get("/operator")
    def operators(request: Request, account: Account = Depends(operator)) -> Response:
        there = accounts(store)
        waiting = queue.submissions(store, states=("received", "waiting"))
        return page(
            request,
            "operator",
            health=views.health(store),
            accounts=there,
            names={each.id: each.name for each in there},
            waiting=waiting,
            running=list(views.running(store)),
            protections=protection.protections(store),
            last=queue.submissions(store)[:50],
        )

    @app.middleware("http")
    async def unexpected(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        # Caught here, since an error that leaves the middleware is answered without the security headers.
        try:
            return await answer(request)
        except Exception:
            logging.getLogger(__name__).exception("%s %s", request.method, request.url.path)
            return PlainTextResponse("internal error: operators find the details in the log", 500)

    @app.exception_handler(Refusal)
    def refused(request: Request, error: Refusal) -> Response:
        # Closes the connection, so that the unread rest of a body is not waited for.
        headers = {**(error.headers or {}), "Connection": "close"}
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": error.detail}, error.status_code, headers)
        if error.status_code == 401:
            return RedirectResponse("/sign-in", 303)
        answer = page(request, "error", error.status_code, error=error.detail)
        answer.headers.update(headers)
        return answer

    app.mount("/static", StaticFiles(directory=_HERE / "static"))
    app.mount("/style", StaticFiles(directory=Path(leaderboard.__file__).parent / "static"))
    app.mount("/board", StaticFiles(directory=board, html=True, check_dir=False))
    app.add_middleware(
        SessionMiddleware,
        secret_key=_secret(),
        session_cookie="bsjax",
        max_age=_HALF_A_DAY,
        same_site="strict",
        https_only=is_encrypted,
    )
    app.add_middleware(Framed, is_encrypted=is_encrypted)
    return app


def _noted(request: Request, account: Account) -> Account:
    """Note the account of a request for the log and the page; gives the account."""
    request.state.account, request.state.who = account.name, account
    return account


def _csrf(request: Request) -> str:
    """The CSRF token of the session, which every form must send."""
    return request.session.setdefault("csrf", secrets.token_urlsafe(16))


async def _form(request: Request, most: int = LARGEST_FORM) -> Any:
    """Read a form and check its CSRF token.

    Raises:
        HTTPException: 411 without a length; 413 if it is too long; 403 if the CSRF token is wrong.
    """
    if check_length(request, most) is None:
        raise HTTPException(411, "say how long the form is")
    form = await request.form(max_files=1, max_fields=10)
    known = request.session.get("csrf", "")
    if not known or not hmac.compare_digest(str(form.get("csrf", "")).encode(), known.encode()):
        await form.close()
        raise HTTPException(403, "this form is not of your session any more: load the page again")
    return form


def _secret() -> str:
    """The key that signs cookies, generated at the first start."""
    path = cache_dir().absolute() / "service-secret"
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        descriptor, made = tempfile.mkstemp(dir=path.parent)  # readable only by this user
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
        try:
            os.link(made, path)
        except FileExistsError:
            pass  # another service has created it
        finally:
            os.unlink(made)
    return path.read_text()


def _pages(title: str, url: str) -> Any:
    pages = templates_in(_HERE / "templates")
    pages.filters |= {"moment": views.moment}
    pages.globals |= {"title": title, "version": __version__, "url": url}
    return pages
