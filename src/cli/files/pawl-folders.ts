/**
 * Where Pawl keeps what no command and no server may see, wherever it is.
 */
import { resolveUserConfigurationFolder } from "./configuration-folder.js";
import { listStoreFiles } from "./store-location.js";

export function listPawlFolders(home: string): readonly string[] {
  return [home, resolveUserConfigurationFolder(process.env), ...listStoreFiles(home)];
}
