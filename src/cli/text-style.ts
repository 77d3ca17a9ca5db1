/**
 * Colours and styles of text, on a terminal only.
 */
import { styleText } from "node:util";

const formats = {
  blue: "blue",
  bold: "bold",
  cyan: "cyan",
  dim: "dim",
  green: "green",
  "green-strong": ["green", "inverse"],
  italic: "italic",
  magenta: "magenta",
  red: "red",
  "red-strong": ["red", "inverse"],
  underline: "underline",
  yellow: "yellow",
} as const satisfies { readonly [style: string]: Format };

type Format = Parameters<typeof styleText>[0];

/** `red-strong` and `green-strong` mark words within a line that is red or green already. */
export type TextStyle = keyof typeof formats;
export type StyleText = (style: TextStyle, text: string) => string;

export const plainText: StyleText = (_, text) => text;

/**
 * Returns plain text if the stream is not a terminal, if `NO_COLOR` is set (https://no-color.org), or if `TERM` is
 * `dumb`.
 */
export function createStyleText(
  stream: { readonly isTTY?: boolean },
  environment: { readonly [name: string]: string | undefined },
): StyleText {
  const isStyled = stream.isTTY === true && (environment.NO_COLOR ?? "") === "" && environment.TERM !== "dumb";
  // `styleText` would check standard output, and the stream may be standard error.
  return isStyled ? (style, text) => styleText(formats[style] as Format, text, { validateStream: false }) : plainText;
}
