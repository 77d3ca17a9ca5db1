/**
 * The output that all benches share.
 */
import { cpus } from "node:os";

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** A markdown table; the first column is text, the others are figures. */
export function table(heads, rows) {
  const lines = [heads, heads.map((_, index) => (index === 0 ? "---" : "---:")), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

export function processors() {
  const all = cpus();
  return `${all.length} × ${all[0]?.model ?? "unknown processor"}`;
}

export function machine() {
  return `Node ${process.versions.node}, ${processors()}`;
}
