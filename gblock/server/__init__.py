"""A language server: diagnostics, hover and code actions in an editor.

`checking` checks a folder and knows nothing of the protocol, `folder` decides when, and `language`
is what pygls calls. Nothing that a workspace names is run, and nothing else than the command line
changes the server's options.
"""
