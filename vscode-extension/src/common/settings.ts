// The settings that the extension itself reads. All others are read by the server, which asks the editor for them.

export const SECTION = "terra-refactor";

export type ImportStrategy = "fromEnvironment" | "useBundled";

export interface ServerSettings {
    readonly importStrategy: ImportStrategy;
    readonly interpreter: string;
    readonly path: readonly string[];
}

/** Settings that decide which server runs: if one of them changes, it may have to be another. */
export const SERVER_SETTINGS = ["importStrategy", "interpreter", "path"].map((name) => `${SECTION}.${name}`);

/** Settings that the server reads when it starts. */
export const STARTING_SETTINGS = ["diagnosticMode"].map((name) => `${SECTION}.${name}`);

/** Replaces what stands for folders in a setting. */
export function expand(text: string, workspaceFolder: string | undefined, home: string): string {
    return text
        .replaceAll("${workspaceFolder}", workspaceFolder ?? "${workspaceFolder}")
        .replaceAll("${userHome}", home)
        .replace(/^~(?=$|[/\\])/, home);
}
