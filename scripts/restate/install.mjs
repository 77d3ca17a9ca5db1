/**
 * Installs the server of Restate: `node scripts/restate/install.mjs`. The long tests and the bench that start it need it, and nothing else.
 *
 * The packages with the program itself are named, one for each system. The package that chooses among them brings a script of its own.
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { installOnDemand } from "../install-on-demand.mjs";

installOnDemand(
  dirname(fileURLToPath(import.meta.url)),
  "the server of Restate into scripts/restate/node_modules (about 220 MB)",
);
