/**
 * Derives the folders of tools that commands can read from `PATH`. Nothing else in the person's home is shown.
 *
 * The folders are read-only, because the person runs these tools later, outside of the sandbox.
 */
import { existsSync, realpathSync, statSync } from "node:fs";
import { basename, delimiter, dirname, isAbsolute, join } from "node:path";
import { isWithin } from "../files/root.js";

export type ShownTools = {
  /** Absolute paths, as written in PATH. */
  readonly folders: readonly string[];
  /** Variables that point tools to their files, because commands have another home. */
  readonly env: { readonly [name: string]: string };
};

/** Folders and variables that belong to a folder of PATH in the home. */
const knownTools: readonly {
  /** The end of the folder in PATH; the part before it is the home. */
  readonly folder: string;
  readonly shows: readonly string[];
  readonly env?: readonly [name: string, folder: string];
}[] = [
  { folder: ".cargo/bin", shows: [".cargo/bin", ".rustup"], env: ["RUSTUP_HOME", ".rustup"] },
  { folder: ".pyenv/shims", shows: [".pyenv"], env: ["PYENV_ROOT", ".pyenv"] },
  { folder: ".pyenv/bin", shows: [".pyenv"], env: ["PYENV_ROOT", ".pyenv"] },
  { folder: ".rbenv/shims", shows: [".rbenv"], env: ["RBENV_ROOT", ".rbenv"] },
  { folder: ".volta/bin", shows: [".volta/bin", ".volta/tools"], env: ["VOLTA_HOME", ".volta"] },
  { folder: ".asdf/shims", shows: [".asdf"], env: ["ASDF_DATA_DIR", ".asdf"] },
  {
    folder: ".local/share/mise/shims",
    shows: [".local/share/mise/shims", ".local/share/mise/installs"],
    env: ["MISE_DATA_DIR", ".local/share/mise"],
  },
  { folder: ".bun/bin", shows: [".bun/bin"] },
  { folder: ".deno/bin", shows: [".deno/bin"] },
  { folder: "go/bin", shows: ["go/bin"] },
  { folder: ".local/share/pnpm", shows: [".local/share/pnpm"] },
  {
    folder: ".local/bin",
    shows: [
      ".local/bin",
      ".local/pipx/venvs",
      ".local/share/pipx/venvs",
      ".local/share/uv/tools",
      ".local/share/uv/python",
    ],
  },
];

/** Files that mark the root of an installation, whose `bin` needs the rest of it. */
const installationMarks = [
  "pyvenv.cfg",
  "conda-meta",
  "lib/node_modules/npm",
  "lib/rustlib",
  "lib/modules",
  "pkg/tool",
] as const;

export function findShownTools(
  home: string,
  systemFolders: readonly string[],
  { PATH: path = "" }: { readonly PATH?: string | undefined },
): ShownTools {
  const folders = new Set<string>();
  const env: { [name: string]: string } = {};
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder) || !isFolder(folder) || isForeign(folder)) continue;
    const known = knownTools.find((one) => folder.endsWith(`/${one.folder}`));
    if (known !== undefined) {
      // Usually the person's home, but tools may be installed in another home.
      const base = folder.slice(0, -known.folder.length - 1);
      for (const shown of known.shows) folders.add(join(base, shown));
      // The first folder in PATH wins.
      if (known.env !== undefined) env[known.env[0]] ??= join(base, known.env[1]);
      continue;
    }
    const installation = findInstallation(folder, home);
    if (!systemFolders.some((one) => isWithin(one, folder))) folders.add(installation ?? folder);
  }
  return { folders: [...folders].filter(existsSync), env };
}

/** The parent of `…/bin`, if it is the root of an installation. */
function findInstallation(folder: string, home: string): string | null {
  const root = dirname(folder);
  if (basename(folder) !== "bin" || isWithin(root, home)) return null;
  return installationMarks.some((mark) => existsSync(join(root, mark))) ? root : null;
}

/** A Windows drive (WSL), whose programs run outside of every namespace. */
function isForeign(folder: string): boolean {
  return /^\/mnt\/[a-z](\/|$)/i.test(folder);
}

function isFolder(path: string): boolean {
  try {
    return statSync(realpathSync(path)).isDirectory();
  } catch {
    return false;
  }
}
