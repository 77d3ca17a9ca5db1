/**
 * Finds Chromium: the one in CHROMIUM or on the PATH. On Debian, root gets it from apt.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const names = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

export function chromium() {
  const present = process.env.CHROMIUM ?? find();
  if (present !== undefined) return present;
  if (process.getuid?.() === 0 && spawnSync("apt-get", ["--version"]).status === 0) {
    console.error("Installing Chromium with apt-get …");
    spawnSync("apt-get", ["update"], { stdio: "ignore" });
    spawnSync("apt-get", ["install", "-y", "--no-install-recommends", "chromium"], { stdio: "ignore" });
    const installed = find();
    if (installed !== undefined) return installed;
  }
  throw new Error("This check needs Chromium. Install it (apt-get install chromium), or name it in CHROMIUM.");
}

function find() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return names.flatMap((name) => folders.map((path) => join(path, name))).find((file) => existsSync(file));
}
