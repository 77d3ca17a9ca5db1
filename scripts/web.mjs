/**
 * Builds dist/web: the entry points `.` and `./inspect` for runtimes that have Web APIs only, beside the chunk that they share, so that a
 * PawlError is the same class in both. A module has a twin if a folder `web` beside it has a file of its name; the twin takes its place.
 * All else is the same code. A module that needs Node and has no twin fails the build.
 */
import { existsSync } from "node:fs";
import { isBuiltin } from "node:module";
import { basename, dirname, join, resolve } from "node:path";
import { rolldown } from "rolldown";

const dir = "dist/web";
const entries = ["index", "inspect"];

/** Replaces each module that has a twin by its twin. */
const webTwins = {
  name: "web-twins",
  resolveId(id, importer) {
    if (importer === undefined || !id.startsWith(".")) return null;
    const module = resolve(dirname(importer), id);
    const twin = join(dirname(module), "web", basename(module));
    return existsSync(twin) ? twin : null;
  },
};

/** Bundles the entry points. Returns the files of other packages in the bundle. */
export async function buildWeb(modules) {
  const build = await rolldown({
    input: Object.fromEntries(entries.map((entry) => [entry, resolve(modules, `${entry}.js`)])),
    platform: "browser",
    plugins: [webTwins],
    external: (id) => isBuiltin(id) || (/^[^./]/.test(id) && !id.startsWith("@noble/hashes/")),
  });
  // Names of functions stay, so that stacks can be read. Nobody steps through this file: whoever deploys it bundles it again.
  const minify = { compress: true, mangle: { keepNames: true }, codegen: { removeWhitespace: true } };
  const { output } = await build.write({ dir, format: "esm", chunkFileNames: "chunks/[name].js", minify });
  await build.close();
  const needNode = output.flatMap(({ imports }) => imports).filter((id) => isBuiltin(id));
  if (needNode.length > 0)
    throw new Error(
      `"pawl" needs ${needNode.join(", ")} which only Node has. Move what needs it into src/platform, and write its twin in src/platform/web.`,
    );
  return output.flatMap((chunk) => Object.keys(chunk.modules ?? {}));
}
