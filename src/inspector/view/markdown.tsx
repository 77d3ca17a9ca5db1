/**
 * Renders a model's Markdown as elements. A link shows its address; nothing is fetched.
 */

import { useMemo, useState } from "preact/hooks";
import { showHidden } from "../../core/data/hidden-characters.js";
import { detectDirection } from "../state/direction.js";
import { formatBytes } from "../state/format.js";
import { type Block, type Inline, parseMarkdown } from "../state/parse-markdown.js";

/** The number of characters of a text that are shown at first. */
const maxShown = 20_000;

export function Markdown({ text }: { readonly text: string }) {
  const [isWhole, setIsWhole] = useState(false);
  const isCut = text.length > maxShown && !isWhole;
  const visibleText = isCut ? text.slice(0, maxShown) : text;
  const blocks = useMemo(() => parseMarkdown(visibleText), [visibleText]);
  return (
    <div class="markdown" dir={detectDirection(blocks)}>
      <Blocks blocks={blocks} />
      {isCut && (
        <button type="button" class="more" onClick={() => setIsWhole(true)}>
          Show all ({formatBytes(text.length)})
        </button>
      )}
    </div>
  );
}

function Blocks({ blocks }: { readonly blocks: readonly Block[] }) {
  return (
    <>
      {blocks.map((block, at) => (
        <BlockView block={block} key={at} />
      ))}
    </>
  );
}

function BlockView({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case "heading":
      return (
        <p
          class={`heading h${Math.min(4, block.level)}`}
          role="heading"
          aria-level={Math.min(6, block.level + 2)}
          dir={detectDirection([block])}
        >
          <Inlines inlines={block.children} />
        </p>
      );
    case "paragraph":
      return (
        <p dir={detectDirection([block])}>
          <Inlines inlines={block.children} />
        </p>
      );
    case "code":
      return (
        <pre
          class="mono"
          dir="ltr"
          tabIndex={0}
          role="region"
          aria-label={block.language === "" ? "Code" : `Code, ${block.language}`}
        >
          {block.text}
        </pre>
      );
    case "quote":
      return (
        <blockquote dir={detectDirection([block])}>
          <Blocks blocks={block.blocks} />
        </blockquote>
      );
    case "rule":
      return <hr />;
    case "list": {
      const items = block.items.map((item, at) => (
        <li key={at}>
          <Blocks blocks={item} />
        </li>
      ));
      const dir = detectDirection([block]);
      return block.start === null ? (
        <ul dir={dir}>{items}</ul>
      ) : (
        <ol start={block.start} dir={dir}>
          {items}
        </ol>
      );
    }
    case "table":
      return <Table table={block} />;
  }
}

function Table({ table }: { readonly table: Extract<Block, { readonly kind: "table" }> }) {
  const { align, head, rows } = table;
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Table">
      <table dir={detectDirection([table])}>
        <thead>
          <tr>
            {head.map((cell, at) => (
              <th class={align[at]} scope="col" key={at}>
                <Inlines inlines={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, at) => (
                <td class={align[at]} key={at}>
                  <Inlines inlines={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/**
 * The text and the address have isolated directions, and bidirectional control characters are shown, so that no text can disguise the
 * address.
 */
function Link({ text, href }: { readonly text: string; readonly href: string }) {
  // In ASCII, so that a letter of another alphabet cannot imitate a letter of a known name.
  const address = /^[\x21-\x7e]+$/.test(href) ? href : new URL(href).href;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" dir="ltr">
      {text === address ? (
        address
      ) : (
        <>
          <bdi>{text}</bdi> <bdi class="address" dir="ltr">{`(${address})`}</bdi>
        </>
      )}
    </a>
  );
}

function Inlines({ inlines }: { readonly inlines: readonly Inline[] }) {
  return (
    <>
      {inlines.map((inline, at) => (
        <InlineView inline={inline} key={at} />
      ))}
    </>
  );
}

function InlineView({ inline }: { readonly inline: Inline }) {
  switch (inline.kind) {
    case "text":
      return <>{inline.text}</>;
    case "code":
      return <code dir="ltr">{inline.text}</code>;
    case "strong":
      return (
        <strong>
          <Inlines inlines={inline.children} />
        </strong>
      );
    case "em":
      return (
        <em>
          <Inlines inlines={inline.children} />
        </em>
      );
    case "strike":
      return (
        <s>
          <Inlines inlines={inline.children} />
        </s>
      );
    case "link":
      return <Link text={showHidden(inline.text)} href={inline.href} />;
  }
}
