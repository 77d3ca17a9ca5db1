/**
 * Installs the packages that only checks and long tests need: `node scripts/checks/install.mjs`. The scripts that need them do it themselves.
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { installOnDemand } from "../install-on-demand.mjs";

installOnDemand(
  dirname(fileURLToPath(import.meta.url)),
  "what only checks and long tests need into scripts/checks/node_modules (about 150 MB)",
);
