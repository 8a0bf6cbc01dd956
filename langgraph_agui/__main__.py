"""`python -m langgraph_agui` is the same as `langgraph-agui`."""

from langgraph_agui.devtools.cli import main

if __name__ == "__main__":
    main()
