/**
 * The version of the package, read from its manifest, so that `pawl --version` loads nothing else.
 */
import { readFileSync } from "node:fs";

export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return (manifest as { readonly version: string }).version;
}
