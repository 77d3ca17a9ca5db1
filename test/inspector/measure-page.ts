/**
 * What can be measured of how a screen looks: the contrast of its texts and signs, and whether all of it is within its edges.
 */
import type { Page } from "./browser.js";

/** What both measures need: the elements that are seen, and what is written in them. */
const seen = `
  const root = document.querySelector("dialog[open]") ?? document.body;
  const isSeen = (element) => {
    const { width, height, bottom, right } = element.getBoundingClientRect();
    return width > 1 && height > 1 && bottom > 0 && right > 0 && getComputedStyle(element).visibility === "visible";
  };
  const ownText = (element) =>
    [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data).join("").trim();
  const all = [...root.querySelectorAll("*")].filter(isSeen);
  const nameOf = (element) => element.tagName.toLowerCase() + "." + (element.getAttribute("class") ?? "") + " " +
    (ownText(element) || element.value || "").slice(0, 40);
`;

/**
 * Texts with less contrast than 4.5 : 1 to what is behind them, large ones and signs with less than 3 : 1 (WCAG 2.2, 1.4.3 and
 * 1.4.11). What cannot be used is exempt there, and here.
 */
export function findLowContrast(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    ${seen}
    const rgba = (text) => {
      const numbers = text.match(/[\\d.]+(?:e-?\\d+)?/g).map(Number);
      const [r, g, b, a = 1] = numbers;
      return text.startsWith("color(") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
    };
    const over = ([r, g, b, a], [r2, g2, b2]) => [r * a + r2 * (1 - a), g * a + g2 * (1 - a), b * a + b2 * (1 - a), 1];
    const behind = (element) => {
      const layers = [];
      for (let one = element; one !== null; one = one.parentElement) {
        const colour = rgba(getComputedStyle(one).backgroundColor);
        layers.push(colour);
        if (colour[3] === 1) break;
      }
      return layers.reduceRight((below, colour) => over(colour, below), [255, 255, 255, 1]);
    };
    const opacityOf = (element) => {
      let opacity = 1;
      for (let one = element; one !== null; one = one.parentElement) opacity *= Number(getComputedStyle(one).opacity);
      return opacity;
    };
    const light = ([r, g, b]) => [r, g, b]
      .map((one) => one / 255)
      .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
      .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
    const contrast = (text, ground) => {
      const [more, less] = [light(text), light(ground)].sort((a, b) => b - a);
      return (more + 0.05) / (less + 0.05);
    };
    const pale = [];
    const measure = (element, colour, least) => {
      const ground = behind(element);
      const [r, g, b, a] = rgba(colour);
      const found = contrast(over([r, g, b, a * opacityOf(element)], ground), ground);
      if (found < least) pale.push(nameOf(element) + " " + found.toFixed(2));
    };
    for (const element of all) {
      const style = getComputedStyle(element);
      if (element.closest(":disabled") !== null) continue;
      // A sign breathes while something is under way: it is measured as it rests.
      if (element.matches(".icon:not(.running)")) measure(element, style.color, 3);
      const isField = element.matches("input, textarea");
      if (isField && element.value === "" && element.placeholder)
        measure(element, getComputedStyle(element, "::placeholder").color, 4.5);
      if (ownText(element) === "" && !(isField && element.value !== "")) continue;
      if (element.closest("svg, script, style, option") !== null) continue;
      const size = parseFloat(style.fontSize);
      if (size === 0) continue;
      const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      measure(element, style.color, isLarge ? 3 : 4.5);
    }
    return [...new Set(pale)];
  })()`);
}

/** What is cut off or out of reach: beyond an edge of the window, and in nothing that can be scrolled to it. */
export function findClipped(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    ${seen}
    const canScroll = (element) => {
      for (let one = element.parentElement; one !== null; one = one.parentElement) {
        const { overflowX, textOverflow } = getComputedStyle(one);
        if (overflowX === "auto" || overflowX === "scroll" || textOverflow === "ellipsis") return one.clientWidth <= innerWidth;
      }
      return false;
    };
    const isWide = ({ right, left }) => right > innerWidth + 1 || left < -1;
    const cut = all.filter((element) => {
      if (ownText(element) === "" && !element.matches("button, input, select, textarea, svg.icon")) return false;
      if (element.closest("script, style, option") !== null) return false;
      if (isWide(element.getBoundingClientRect())) return !canScroll(element);
      const { overflowX, textOverflow } = getComputedStyle(element);
      // Text that is cut in the middle of a letter, with nothing that tells it.
      return overflowX === "hidden" && textOverflow !== "ellipsis" && element.scrollWidth > element.clientWidth + 1;
    });
    const more = document.scrollingElement.scrollWidth > innerWidth ? ["the page can be scrolled sideways"] : [];
    return [...new Set([...cut.map(nameOf), ...more])];
  })()`);
}
