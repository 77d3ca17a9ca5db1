/**
 * Opens folders one after another, in the order of a walk. Parents shared with the next folder stay open.
 */
import { closeFolder, type Folder, openSubfolder } from "./folder.js";

export type FolderChain = {
  /**
   * Opens a folder by its path from the top. It stays open until the next folder is opened.
   *
   * @throws FolderReplacedError if a name along the path is a link; a system error
   */
  open(path: string): Promise<Folder>;
  /** Closes all folders except the top. */
  close(): void;
};

/** @param path the path of the top, relative to the root of the tools */
export function createFolderChain(top: Folder, path: string): FolderChain {
  const opened: { readonly name: string; readonly folder: Folder }[] = [];
  const closeFrom = (count: number) => {
    for (const { folder } of opened.splice(count)) closeFolder(folder);
  };
  return {
    async open(requestedPath) {
      const relativePath =
        requestedPath === path ? "" : path === "." ? requestedPath : requestedPath.slice(path.length + 1);
      const names = relativePath === "" ? [] : relativePath.split("/");
      const firstDifference = names.findIndex((name, at) => opened[at]?.name !== name);
      closeFrom(firstDifference === -1 ? names.length : firstDifference);
      for (const name of names.slice(opened.length))
        opened.push({ name, folder: await openSubfolder(opened.at(-1)?.folder ?? top, name, { sync: true }) });
      return opened.at(-1)?.folder ?? top;
    },
    close: () => closeFrom(0),
  };
}
