/**
 * How a person wants things shown, from their own `pawl.config.json`: the first frame and the colours go by it, before the program is
 * loaded and reads all that is in force. It looks at nothing else in the file, and does not say what is wrong with it.
 */
import { join } from "node:path";
import { stripComments } from "../configuration/strip-comments.js";
import { maxConfigurationBytes, resolveUserConfigurationFolder } from "../files/configuration-folder.js";
import { readSmallText } from "../files/small-file.js";
import { isTheme, type Theme } from "./text-style.js";

export type DisplaySettings = { readonly theme: Theme; readonly screenReader: boolean };

const defaultDisplay: DisplaySettings = { theme: "auto", screenReader: false };

/** Null if the file does not say it in a way that can be used: what reads the whole file tells why. */
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
