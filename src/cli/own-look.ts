/**
 * How a person wants things shown, from their own `pawl.config.json`: the first frame and the colours go by it, before the program is
 * loaded and reads all that is in force. It looks at nothing else in the file, and does not say what is wrong with it.
 */
import { join } from "node:path";
import { plainJson } from "./configuration/json-with-comments.js";
import { configurationOf, mostConfigurationBytes } from "./configuration-folder.js";
import { readSmallText } from "./small-file.js";
import { isTheme, type Theme } from "./text-style.js";

export type OwnLook = { readonly theme: Theme; readonly screenReader: boolean };

const usual: OwnLook = { theme: "auto", screenReader: false };

/** Null if the file does not say it in a way that can be used: what reads the whole file tells why. */
export function ownLook(environment: { readonly [name: string]: string | undefined }): OwnLook | null {
  try {
    const path = join(configurationOf(environment), "pawl.config.json");
    const text = readSmallText(path, mostConfigurationBytes, (why) => new Error(why));
    if (text === null) return usual;
    const { ui = {} } = JSON.parse(plainJson(text)) as { readonly ui?: Partial<OwnLook> };
    const look = { ...usual, ...ui };
    return isTheme(look.theme) && typeof look.screenReader === "boolean" ? look : null;
  } catch {
    return null;
  }
}
