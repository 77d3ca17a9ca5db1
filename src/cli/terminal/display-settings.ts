/**
 * Reads the display settings from the person's own `pawl.config.json`, for the first frame and the colors, before the program
 * loads and reads the whole configuration. The rest of the file is ignored, and its errors are not reported here.
 */
import { join } from "node:path";
import { stripComments } from "../configuration/strip-comments.js";
import { maxConfigurationBytes, resolveUserConfigurationFolder } from "../files/configuration-folder.js";
import { readSmallText } from "../files/small-file.js";
import { isTheme, type Theme } from "./text-style.js";

export type DisplaySettings = { readonly theme: Theme; readonly screenReader: boolean };

const defaultDisplay: DisplaySettings = { theme: "auto", screenReader: false };

/** Null if the file is invalid: the code that reads the whole file reports why. */
export function readDisplaySettings(environment: {
  readonly [name: string]: string | undefined;
}): DisplaySettings | null {
  try {
    const path = join(resolveUserConfigurationFolder(environment), "pawl.config.json");
    const text = readSmallText(path, maxConfigurationBytes, (why) => new Error(why));
    if (text === null) return defaultDisplay;
    const { ui = {} } = JSON.parse(stripComments(text)) as { readonly ui?: Partial<DisplaySettings> };
    const display = { ...defaultDisplay, ...ui };
    return isTheme(display.theme) && typeof display.screenReader === "boolean" ? display : null;
  } catch {
    return null;
  }
}
