/**
 * The sandbox of commands: on bubblewrap, with its own home, without the person's secrets, and with a network that reaches only
 * listed hosts.
 *
 * bubblewrap-arguments.ts decides what commands see, folder-mounts.ts what is closed in their folder, session.ts what they share,
 * and proxy.ts which hosts they reach.
 */
import {
  aFunction,
  anyValue,
  checkOptions,
  nonEmptyString,
  type OptionRule,
  type OptionTable,
  oneOf,
} from "../../check-options.js";
import { PawlError } from "../../errors.js";
import { createRoot, isWithin } from "../files/root.js";
import { createAddressRules } from "../web/address-rules.js";
import { createBubblewrapSandbox, findPersonHome, readHost } from "./bubblewrap.js";
import type { CommandSandbox, Sandbox, SandboxOptions } from "./contract.js";
import { probeSandbox, type SandboxProbe } from "./probe.js";

export type {
  CommandReport,
  CommandSandbox,
  HostTarget,
  PreparedCommand,
  PrepareOptions,
  Refusal,
  RefusalReason,
  Sandbox,
  SandboxOptions,
} from "./contract.js";

const nonEmptyStrings: OptionRule = {
  accepts: (value) => Array.isArray(value) && value.every((one) => typeof one === "string" && one !== ""),
  expected: "an array of non-empty strings",
};

const optionRules: OptionTable<SandboxOptions> = {
  root: anyValue,
  mode: oneOf("auto", "required"),
  hosts: nonEmptyStrings,
  addresses: nonEmptyStrings,
  show: nonEmptyStrings,
  write: nonEmptyStrings,
  homeName: nonEmptyString,
  hide: aFunction,
};

/**
 * Creates the sandbox of a folder's commands, for `createShellTool({ sandbox })`.
 *
 * @throws PawlError `sandbox_missing` if `mode` is `required` and no sandbox is available
 * @throws PawlError `bad_configuration` if an option cannot be used
 *
 * @example
 * ```ts
 * import { createSandbox, createShellTool } from "pawl/tools";
 *
 * const sandbox = createSandbox({ root: "site", mode: "required", hosts: ["npm"] });
 * const shell = createShellTool({ root: "site", sandbox });
 * ```
 */
export function createSandbox(options: SandboxOptions): CommandSandbox {
  checkOptions("createSandbox()", optionRules, options, { otherNames: { cwd: "root", allowedHosts: "hosts" } });
  const root = createRoot(options.root).path;
  for (const host of options.hosts ?? []) readHost(host);
  createAddressRules(options.addresses ?? []);
  const probe = findBubblewrap(root);
  if (probe.bubblewrap !== null) return createBubblewrapSandbox(options, root, probe.bubblewrap);
  if (options.mode === "required") {
    const advice = probe.advice === "" ? "" : ` ${probe.advice}`;
    throw new PawlError("sandbox_missing", `Commands cannot be sandboxed: ${probe.reason}.${advice}`);
  }
  return createNoSandbox(probe.reason, probe.advice);
}

/** Creates a stand-in that runs commands unchanged. @param reason null if the sandbox is switched off */
export function createNoSandbox(reason: string | null, advice = ""): CommandSandbox {
  return Object.freeze({
    kind: "none",
    reason,
    advice,
    hosts: [],
    describe: () => [reason === null ? "off" : `none: ${reason}`],
    prepare: async (program) => ({
      program,
      environment: (base) => base,
      filter: null,
      report: () => ({ refusals: [], notes: [] }),
      end: async () => {},
    }),
    close: async () => {},
  });
}

/**
 * Finds out whether bubblewrap works, by running it. That it is installed is not enough: many systems do not let users create
 * namespaces. `createSandbox` also reports the reason.
 */
export function detectSandbox(): Sandbox {
  return probeSandbox().bubblewrap === null ? "none" : "bubblewrap";
}

function findBubblewrap(root: string): SandboxProbe {
  if (isWithin(root, findPersonHome().real))
    return {
      bubblewrap: null,
      reason: "the folder is your home, or contains it",
      advice: "Work in a folder below your home.",
    };
  return probeSandbox([root]);
}
