/**
 * Programs that start another program, which their arguments name: `sudo`, `xargs`, `docker exec`. For rules that deny or ask.
 */
import { basename } from "node:path";
import { type CommandPattern, commandOf, matchesCommand } from "./command-pattern.js";
import { findKnownCommand, isExactReadCommand, isOption, isPlainFind, isPlainSed } from "./known-commands.js";

/**
 * Whether a pattern matches a command, or one that it may start. Not all programs that start others can be known, so each later
 * word may name a program, unless it is an argument of a command that starts nothing.
 */
export function matchesStartedCommand(pattern: CommandPattern, command: readonly string[]): boolean {
  const program = basename(pattern.words[0] ?? "");
  return findPossibleStarts(command).some(
    (at) => basename(command[at] ?? "") === program && matchesCommand(pattern, command.slice(at)),
  );
}

/**
 * The positions of the words that may name programs, up to a limit. The arguments of a command that starts nothing are excluded:
 * `grep rm`, `timeout 5 grep rm`.
 */
export function findPossibleStarts(command: readonly string[]): readonly number[] {
  const words = command.slice(0, maxStarts);
  const end = findNonStarter(words);
  return words.slice(0, end === null ? maxStarts : end + 1).map((_, at) => at);
}

function findNonStarter(words: readonly string[]): number | null {
  for (let at = 0; at < words.length; ) {
    const rest = words.slice(at);
    if (startsNothing(rest)) return at;
    const inner = findInnerCommand(rest);
    if (inner === null) return null;
    at += inner;
  }
  return null;
}

const maxStarts = 30;

/** Shell commands whose arguments are data. */
const dataCommands: ReadonlySet<string> = new Set(["cd", "pushd", "test", "[", "printf"]);

/** Whether a command is known not to start a program that its arguments name. */
function startsNothing(words: readonly string[]): boolean {
  const [program = "", ...args] = commandOf([basename(words[0] ?? ""), ...words.slice(1)]);
  if (dataCommands.has(program) || isExactReadCommand([program, ...args])) return true;
  if (program === "find") return isPlainFind(args);
  if (program === "sed") return isPlainSed(args);
  const known = findKnownCommand([program, ...args]);
  return known !== null && !args.some((word) => isOption(known.never, word));
}

/** Programs that start another: the letters of their options with a value, and the number of operands before its name. */
const wrapperPrograms: { readonly [program: string]: readonly [valued: string, operands: number] | undefined } = {
  env: ["uCSa", 0],
  sudo: ["ughpCTrtUDR", 0],
  doas: ["uCa", 0],
  xargs: ["IPnLsdEa", 0],
  parallel: ["jnNISaP", 0],
  nohup: ["", 0],
  time: ["fo", 0],
  timeout: ["sk", 1],
  nice: ["n", 0],
  ionice: ["cnpPu", 0],
  chrt: ["TPD", 1],
  taskset: ["", 1],
  setsid: ["", 0],
  stdbuf: ["ioe", 0],
  watch: ["nqs", 0],
  command: ["", 0],
  builtin: ["", 0],
  exec: ["a", 0],
  strace: ["oepsuEIabXPSO", 0],
  ltrace: ["oepsun", 0],
  chroot: ["", 1],
  unshare: ["SGRw", 0],
  nsenter: ["tSGrw", 0],
  busybox: ["", 0],
  flock: ["wEc", 1],
  entr: ["", 0],
  "systemd-run": ["puEMHt", 0],
  unbuffer: ["", 0],
  ssh: ["BbcDEeFIiJLlmOoPpQRSWw", 1],
};

/** Long options of wrapper programs whose value may be the next word. */
const valuedLongOptions: ReadonlySet<string> = new Set(
  `signal kill-after unset chdir split-string argv0 user group other-user prompt close-from adjustment class classdata
   max-args max-procs max-chars delimiter arg-file input output error interval format jobs
   target setuid setgid wait timeout conflict-exit-code property unit`.split(/\s+/),
);

/** The position of the command that a program starts; null if it is not known to start one. */
export function findInnerCommand([name = "", ...args]: readonly string[]): number | null {
  const program = basename(name);
  const wrapper = Object.hasOwn(wrapperPrograms, program) ? wrapperPrograms[program] : undefined;
  if (program === "hash") return args[0] === "-p" ? 2 : null;
  if (wrapper === undefined) return null;
  const [valuedLetters] = wrapper;
  let [, operands] = wrapper;
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? "";
    const [, first = "", others = ""] = /^-([^-])(.*)$/s.exec(word) ?? [];
    if (first !== "") {
      // The value of an option is attached or is the next word.
      const takesNextWord = [first, ...others].findIndex((letter) => valuedLetters.includes(letter)) === others.length;
      if (takesNextWord) at += 1;
    } else if (word === "-") continue;
    else if (word.startsWith("--")) at += valuedLongOptions.has(word.slice(2)) ? 1 : 0;
    else if (operands > 0) operands -= 1;
    else if (!/^[A-Za-z_]\w*=/.test(word)) return at + 1;
  }
  return null;
}

/** Whether a program is known to start another one that its arguments name. */
export function isWrapper(program: string): boolean {
  return Object.hasOwn(wrapperPrograms, program);
}
