/**
 * Runs a program of the packages in this folder, which are installed first if they are not there:
 *
 *     node scripts/checks/run.mjs PROGRAM [ARGUMENT…]
 */
import { spawnSync } from "node:child_process";
import { realpathSync } from "node:fs";
import "./install.mjs";

const [program, ...programArguments] = process.argv.slice(2);
const file = realpathSync(new URL(`node_modules/.bin/${program}`, import.meta.url));
const { status, error } = spawnSync(process.execPath, [file, ...programArguments], { stdio: "inherit" });
if (error !== undefined) throw error;
process.exitCode = status ?? 1;
