/**
 * The files of the inspector. In the package, a build replaces this module with the built files: scripts/inspector.mjs. In a
 * clone, this module loads them from `dist`.
 */

export type InspectorFile = { readonly name: string; readonly type: string; readonly text: string };

type InspectorBuild = { readonly page: string; readonly files: readonly InspectorFile[] };

const build: InspectorBuild = await import(new URL("../../dist/inspector/files.js", import.meta.url).href);

/** The page, with `{{base}}` for the path under which the server is mounted. */
export const page = build.page;
export const files = build.files;
