/**
 * Colors and styles of text, on a terminal only.
 */
import { styleText } from "node:util";

const styleFormats = {
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

/** `red-strong` and `green-strong` mark words within a red or green line. */
export type TextStyle = keyof typeof styleFormats;
export type StyleText = (style: TextStyle, text: string) => string;

export const plainText: StyleText = (_, text) => text;

export const themes = ["auto", "none"] as const;

/** `auto`: the colors of the terminal, if it supports any. `none`: no colors and no styles. */
export type Theme = (typeof themes)[number];

export function isTheme(value: unknown): value is Theme {
  return themes.some((theme) => theme === value);
}

/**
 * Returns plain text if the stream is not a terminal, if `NO_COLOR` is set (https://no-color.org), if `TERM` is `dumb`, or if the
 * theme is `none`. `FORCE_COLOR` overrides all of these, as in Node: `0` turns colors off, other known values turn them on.
 */
export function createStyleText(
  stream: { readonly isTTY?: boolean },
  environment: { readonly [name: string]: string | undefined },
  theme: Theme = "auto",
): StyleText {
  const { NO_COLOR: noColor = "", FORCE_COLOR: forceColor, TERM } = environment;
  const isStyledByDefault = stream.isTTY === true && noColor === "" && TERM !== "dumb" && theme !== "none";
  const isStyled = forceColor === undefined ? isStyledByDefault : colorForcingValues.has(forceColor);
  // `styleText` would check standard output, and the stream may be standard error.
  return isStyled
    ? (style, text) => styleText(styleFormats[style] as Format, text, { validateStream: false })
    : plainText;
}

/** Values of `FORCE_COLOR` that turn colors on; all others turn them off. */
const colorForcingValues: ReadonlySet<string> = new Set(["", "1", "2", "3", "true"]);
