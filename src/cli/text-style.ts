/**
 * Colours and styles of text, on a terminal only.
 */
import { styleText } from "node:util";

export type TextStyle = "bold" | "cyan" | "dim" | "green" | "red" | "yellow";
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
  return isStyled ? (style, text) => styleText(style, text, { validateStream: false }) : plainText;
}
