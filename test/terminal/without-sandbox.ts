/**
 * Commands outside the sandbox. Bubblewrap ends its commands with their parent, and at once when they are stopped.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { World } from "../cli/pawl.js";

/** The variables with which `pawl` finds a program that says that there is no sandbox. */
export function withoutSandbox(world: World): { readonly PATH: string } {
  const folder = join(world.base, "no-sandbox");
  mkdirSync(folder);
  writeFileSync(join(folder, "bwrap"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
  return { PATH: `${folder}${delimiter}${process.env.PATH}` };
}
