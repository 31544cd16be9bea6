"""Recognition out of distribution: Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann & Brendel (2021)."""
