/**
 * The number that a command takes after its name.
 */
import { PawlError } from "../../../index.js";

export function parseNumber(words: string, command: string): number {
  if (words === "") return 1;
  const number = /^\d{1,6}$/.test(words) ? Number(words) : 0;
  if (number >= 1) return number;
  throw new PawlError("bad_input", `${command} takes a number, counted from 1.`);
}
