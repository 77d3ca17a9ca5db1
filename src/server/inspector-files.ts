/**
 * The files of the inspector. In the package, the built files take the place of this module: scripts/inspector.mjs. In a
 * clone it finds them in `dist`.
 */

export type InspectorFile = { readonly name: string; readonly type: string; readonly text: string };

type InspectorBuild = { readonly page: string; readonly files: readonly InspectorFile[] };

const build: InspectorBuild = await import(new URL("../../dist/inspector/files.js", import.meta.url).href);

/** The page, with `{{base}}` for the path under which the server is mounted. */
export const page = build.page;
export const files = build.files;
