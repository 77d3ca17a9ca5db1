/**
 * Colour, only where somebody looks at a terminal.
 */
import { styleText } from "node:util";

export type Colour = "bold" | "cyan" | "dim" | "green" | "red" | "yellow";
export type Paint = (colour: Colour, text: string) => string;

export const noPaint: Paint = (_, text) => text;

/** @param environment honours `NO_COLOR` (https://no-color.org), and terminals that say they are dumb */
export function createPaint(
  stream: { readonly isTTY?: boolean },
  environment: { readonly [name: string]: string | undefined },
): Paint {
  const wanted = stream.isTTY === true && (environment.NO_COLOR ?? "") === "" && environment.TERM !== "dumb";
  // The stream was looked at here: `styleText` would look at standard output.
  return wanted ? (colour, text) => styleText(colour, text, { validateStream: false }) : noPaint;
}
