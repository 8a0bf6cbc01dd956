"""Real LangChain models against a scripted server: see `server`, `models`, `turns` and `cases`."""
