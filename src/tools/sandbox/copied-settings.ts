/**
 * Copies the person's harmless Git, npm and pip settings for commands in the sandbox. Only known names are copied, so tokens,
 * passwords, helpers and aliases are not.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { findSystemProgram } from "./probe.js";

export type SettingsCopies = {
  /** The folder that contains the copies; null if it cannot be written. */
  readonly folder: string | null;
  /** Paths of certificates in the settings. */
  readonly certificates: readonly string[];
};

/** The file names of the copies, and the variables by which programs find them. */
export const settingsFiles = {
  gitconfig: "GIT_CONFIG_GLOBAL",
  npmrc: "NPM_CONFIG_USERCONFIG",
  "pip.conf": "PIP_CONFIG_FILE",
} as const;

const maxBytes = 256 * 1024;

export type CopyOptions = {
  readonly cache: string;
  readonly root: string;
  readonly home: string;
  /** Folders whose programs are not trusted. */
  readonly avoid: readonly string[];
};

/** Writes the copies, replacing earlier ones. */
export function copySettings({ cache, root, home, avoid }: CopyOptions): SettingsCopies {
  const npm = readLines([join(home, ".npmrc")]).flatMap(readNpmLine);
  const pip = readLines([join(home, ".config/pip/pip.conf"), join(home, ".pip/pip.conf")]).flatMap(readPipLine);
  const copies: { readonly [Name in keyof typeof settingsFiles]: string } = {
    gitconfig: copyGitSettings(root, avoid),
    npmrc: npm.map(({ line }) => `${line}\n`).join(""),
    "pip.conf": pip.length === 0 ? "" : `[global]\n${pip.map(({ line }) => `${line}\n`).join("")}`,
  };
  const certificates = [...npm, ...pip].flatMap(({ certificate }) =>
    certificate !== null && isAbsolute(certificate) && existsSync(certificate) ? [certificate] : [],
  );
  const folder = join(cache, "settings", createHash("sha256").update(root).digest("hex").slice(0, 24));
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const [name, text] of Object.entries(copies)) writeFileSync(join(folder, name), text, { mode: 0o600 });
    return { folder, certificates };
  } catch {
    return { folder: null, certificates: [] };
  }
}

const gitNames: ReadonlySet<string> = new Set([
  ...["user.name", "user.email", "init.defaultbranch", "core.autocrlf", "core.eol", "core.quotepath"],
  ...["pull.rebase", "pull.ff", "push.default", "merge.conflictstyle", "diff.algorithm", "rebase.autosquash"],
]);

/** Git itself lists the settings, including those of files that it includes for this folder. */
function copyGitSettings(root: string, avoid: readonly string[]): string {
  const git = findSystemProgram("git", avoid);
  if (git === null) return "";
  let listed: string;
  try {
    const options = { cwd: root, encoding: "utf8", timeout: 5_000, maxBuffer: maxBytes } as const;
    listed = execFileSync(git, ["config", "--global", "--includes", "--list", "-z"], {
      ...options,
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    // The person has no settings.
    return "";
  }
  const settings = listed.split("\0").flatMap((entry) => {
    const [name = "", ...lines] = entry.split("\n");
    return gitNames.has(name) ? [[name, lines.join("\n")] as const] : [];
  });
  return settings
    .map(([name, value]) => `[${name.split(".")[0]}]\n\t${name.split(".")[1]} = ${quoteForGit(value)}\n`)
    .join("");
}

function quoteForGit(value: string): string {
  return `"${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n").replaceAll("\t", "\\t")}"`;
}

type CopiedLine = { readonly line: string; readonly certificate: string | null };

const npmNames =
  /^(?:(?:@[\w.~-]+:)?registry|cafile|save-exact|save-prefix|legacy-peer-deps|engine-strict|package-lock)$/;

function readNpmLine(text: string): readonly CopiedLine[] {
  const [, name = "", value = ""] = /^([^=;#\s]+)\s*=\s*(.*)$/.exec(text) ?? [];
  return npmNames.test(name) && isPlain(value)
    ? [{ line: `${name}=${value}`, certificate: name === "cafile" ? value : null }]
    : [];
}

const pipNames = /^(?:index-url|extra-index-url|trusted-host|cert|timeout|retries)$/;

function readPipLine(text: string): readonly CopiedLine[] {
  const [, name = "", value = ""] = /^([\w-]+)\s*[=:]\s*(.*)$/.exec(text) ?? [];
  return pipNames.test(name) && isPlain(value)
    ? [{ line: `${name} = ${value}`, certificate: name === "cert" ? value : null }]
    : [];
}

/** Whether a value contains neither credentials in a URL nor a variable, which may hold a token. */
function isPlain(value: string): boolean {
  return value !== "" && !/:\/\/[^/]*@/.test(value) && !value.includes("${");
}

function readLines(paths: readonly string[]): readonly string[] {
  for (const path of paths) {
    try {
      return readFileSync(path, "utf8")
        .slice(0, maxBytes)
        .split("\n")
        .map((line) => line.trim());
    } catch {
      // The next path may exist.
    }
  }
  return [];
}
