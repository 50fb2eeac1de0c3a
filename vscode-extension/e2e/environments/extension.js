// What the end-to-end run has in the place of Python Environments (ms-python.vscode-python-envs), which only a gallery has: the part of its
// API (@vscode/python-environments 1.0) that terra-refactor asks.

const vscode = require("vscode");

const changed = new vscode.EventEmitter();

exports.activate = (context) => {
    context.subscriptions.push(
        changed,
        vscode.workspace.onDidChangeConfiguration((event) => {
            if (event.affectsConfiguration("environments.chosen")) {
                changed.fire({ uri: undefined, old: undefined, new: undefined });
            }
        }),
    );
    return {
        getEnvironment: async () => {
            const executable = vscode.workspace.getConfiguration("environments").get("chosen");
            return executable === "" ? undefined : { execInfo: { run: { executable } } };
        },
        onDidChangeEnvironment: changed.event,
    };
};
