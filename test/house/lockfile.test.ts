import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

type Locked = {
  readonly resolved?: string;
  readonly version?: string;
  readonly dependencies?: { readonly [name: string]: string };
  readonly optionalDependencies?: { readonly [name: string]: string };
};

type Lockfile = { readonly packages: { readonly [folder: string]: Locked } };

const lockfiles = [
  "package-lock.json",
  "scripts/checks/package-lock.json",
  "scripts/moving/package-lock.json",
  "scripts/site/package-lock.json",
  "bench/peers/package-lock.json",
].map((path) => ({
  path,
  packages: (JSON.parse(readFileSync(path, "utf8")) as Lockfile).packages,
}));

/** The folders in which Node looks for a package that is required from this folder, nearest first. */
function candidates(folder: string, name: string): readonly string[] {
  const parents = folder
    .split("/node_modules/")
    .map((_, index, parts) => parts.slice(0, index + 1).join("/node_modules/"));
  return [...(folder === "" ? [] : parents.map((parent) => `${parent}/node_modules/${name}`)), `node_modules/${name}`];
}

describe.each(lockfiles)("$path", ({ packages }) => {
  test("names no registry", () => {
    const withHost = Object.entries(packages).filter(([, entry]) => entry.resolved !== undefined);
    expect(withHost).toEqual([]);
  });

  // `npm install` beside an existing node_modules leaves out what this platform does not use, and then `npm ci` refuses elsewhere.
  test("has every package that another one asks for, those of other platforms too", () => {
    const missing = Object.entries(packages).flatMap(([folder, entry]) =>
      Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })
        .filter((name) => !candidates(folder, name).some((path) => path in packages))
        .map((name) => `${folder || "this package"} asks for ${name}`),
    );
    expect(missing).toEqual([]);
  });
});
