/**
 * Says in one sentence why a module of the user's could not be loaded, and where.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { resolvePackageFile } from "../installation.js";
import { sanitize } from "../terminal/text.js";

/**
 * Explains why a module of the user's cannot be imported. An error in a module that it imports has its location only in the stack.
 */
export function explainLoadFailure(file: string, cause: unknown): string {
  const {
    code,
    url,
    name,
    message,
    stack = "",
  } = (cause ?? {}) as NodeJS.ErrnoException & {
    readonly url?: string;
  };
  const shown = sanitize(file);
  if (code === "ERR_UNKNOWN_FILE_EXTENSION" && /\.[cm]?ts$/.test(file))
    return `This Node (${process.version}) cannot read ${shown}. Use Node 22.18 or newer, give a JavaScript file, or install tsx and set NODE_OPTIONS="--import tsx".`;
  const missing = code === "ERR_MODULE_NOT_FOUND" && url?.startsWith("file:") === true ? fileURLToPath(url) : "";
  if (missing.endsWith(".js") && existsSync(missing.replace(/js$/, "ts")))
    return `${shown} could not be loaded: ${showPath(missing)} is missing, but there is a .ts file of that name. Compile first, and use the compiled files.`;
  const what = cause instanceof Error ? `${name}: ${message}` : String(cause);
  // The first line of the stack that is not in a package: a wrong option is thrown by Pawl, and passed by the user's file.
  const frames = [...stack.matchAll(/(file:\/\/\/[^\s)]+?):(\d+)/g)];
  const [, location, line] = frames.find(([, url = ""]) => !isOfPackage(url)) ?? frames[0] ?? [];
  const where =
    location === undefined ? findSyntaxError(file, name) : ` (${showPath(fileURLToPath(location))}, line ${line})`;
  return `${shown} could not be loaded: ${sanitize(what)}${where}.`;
}

function isOfPackage(url: string): boolean {
  return url.includes("/node_modules/") || fileURLToPath(url).startsWith(resolvePackageFile("dist"));
}

/** Node's `SyntaxError` for an imported module has no location. */
function findSyntaxError(file: string, name: string): string {
  if (name !== "SyntaxError") return "";
  const { stderr } = spawnSync(process.execPath, ["--check", resolve(file)], { encoding: "utf8" });
  const line = /:(\d+)\r?\n/.exec(stderr)?.[1];
  return line === undefined ? " (in a module that it imports)" : ` (${sanitize(file)}, line ${line})`;
}

function showPath(path: string): string {
  return sanitize(relative(process.cwd(), path));
}
