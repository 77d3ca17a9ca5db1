/**
 * Programs that start the program that their arguments name: `sudo`, `xargs`, `docker exec`. For rules that deny or ask.
 */
import { basename } from "node:path";
import { type CommandPattern, catches, commandOf } from "./command-pattern.js";
import { isOption, knownCommand, onlyFinds, onlyPrintsLines, readsExactly } from "./programs.js";

/**
 * Whether a pattern catches a command, or one that it may start: programs that start programs are too many to know, so each later
 * word may be the name of one, unless it is an argument of a command that starts nothing.
 */
export function catchesWithin(pattern: CommandPattern, command: readonly string[]): boolean {
  const program = basename(pattern.words[0] ?? "");
  return laterStarts(command).some(
    (at) => basename(command[at] ?? "") === program && catches(pattern, command.slice(at)),
  );
}

/**
 * The positions of the words that may be the names of programs, as far as people write them. The arguments of a command that starts
 * nothing are not among them: `grep rm`, `timeout 5 grep rm`.
 */
export function laterStarts(command: readonly string[]): readonly number[] {
  const words = command.slice(0, maxStarts);
  const end = startsNothingAt(words);
  return words.slice(0, end === null ? maxStarts : end + 1).map((_, at) => at);
}

function startsNothingAt(words: readonly string[]): number | null {
  for (let at = 0; at < words.length; ) {
    const rest = words.slice(at);
    if (startsNothing(rest)) return at;
    const inner = innerCommand(rest);
    if (inner === null) return null;
    at += inner;
  }
  return null;
}

const maxStarts = 30;

/** Commands of a shell that take their arguments as data. */
const takesData: ReadonlySet<string> = new Set(["cd", "pushd", "test", "[", "printf"]);

/** Whether a command is known to start no program that its arguments name. */
function startsNothing(words: readonly string[]): boolean {
  const [program = "", ...given] = commandOf([basename(words[0] ?? ""), ...words.slice(1)]);
  if (takesData.has(program) || readsExactly([program, ...given])) return true;
  if (program === "find") return onlyFinds(given);
  if (program === "sed") return onlyPrintsLines(given);
  const known = knownCommand([program, ...given]);
  return known !== null && !given.some((word) => isOption(known.never, word));
}

/** Programs that start another: the letters of their options with a value, and how many operands come before its name. */
const wrappers: { readonly [program: string]: readonly [valued: string, operands: number] | undefined } = {
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

/** Long options of these programs whose value may be the next word. */
const valuedNames: ReadonlySet<string> = new Set(
  `signal kill-after unset chdir split-string argv0 user group other-user prompt close-from adjustment class classdata
   max-args max-procs max-chars delimiter arg-file input output error interval format jobs
   target setuid setgid wait timeout conflict-exit-code property unit`.split(/\s+/),
);

/** The position of the command that a program starts; null if it starts none that is known. */
export function innerCommand([name = "", ...given]: readonly string[]): number | null {
  const program = basename(name);
  const wrapper = Object.hasOwn(wrappers, program) ? wrappers[program] : undefined;
  if (program === "hash") return given[0] === "-p" ? 2 : null;
  if (wrapper === undefined) return null;
  const [valued] = wrapper;
  let [, operands] = wrapper;
  for (let at = 0; at < given.length; at += 1) {
    const word = given[at] ?? "";
    const [, first = "", others = ""] = /^-([^-])(.*)$/s.exec(word) ?? [];
    if (first !== "") {
      // The value of an option is attached, or it is the next word.
      const isValued = [first, ...others].findIndex((letter) => valued.includes(letter)) === others.length;
      if (isValued) at += 1;
    } else if (word === "-") continue;
    else if (word.startsWith("--")) at += valuedNames.has(word.slice(2)) ? 1 : 0;
    else if (operands > 0) operands -= 1;
    else if (!/^[A-Za-z_]\w*=/.test(word)) return at + 1;
  }
  return null;
}

/** Whether a program is known to start the one that its arguments name. */
export function isWrapper(program: string): boolean {
  return Object.hasOwn(wrappers, program);
}
