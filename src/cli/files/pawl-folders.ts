/**
 * Pawl's own files and folders, which commands and servers must not see.
 */
import { resolveUserConfigurationFolder } from "./configuration-folder.js";
import { listStoreFiles } from "./store-location.js";

export function listPawlFolders(home: string): readonly string[] {
  return [home, resolveUserConfigurationFolder(process.env), ...listStoreFiles(home)];
}
