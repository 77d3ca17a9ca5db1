/**
 * The peers, installed on demand into `bench/peers/node_modules`, without their install scripts.
 */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { installOnDemand } from "../../scripts/install-on-demand.mjs";

const here = dirname(fileURLToPath(import.meta.url));

export function installPeers() {
  installOnDemand(here, "the peers into bench/peers/node_modules (about 800 MB, some minutes)");
}

/** The versions that are installed, by package. */
export function versions() {
  const { dependencies } = JSON.parse(readFileSync(join(here, "package.json"), "utf8"));
  return Object.keys(dependencies).map((name) => ({
    name,
    version: JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8")).version,
  }));
}
