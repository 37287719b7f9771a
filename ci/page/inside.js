// What is asked of a page from inside, in a world of its own: the page has no scripts, and this is none of its.

globalThis.inside = (() => {
  /** A short name of an element, for messages. */
  const named = (element) => {
    const text = (element.getAttribute('aria-label') ?? element.textContent).trim().replace(/\s+/g, ' ').slice(0, 40);
    const about = element.closest('[id]')?.id;
    return `${element.localName}${element.id ? '' : about ? ` in #${about}` : ''}${element.id ? `#${element.id}` : ''} "${text}"`;
  };

  /** What the keyboard has to reach, in the order of the document. */
  const reachable = () =>
    [...document.querySelectorAll('a[href], summary, [tabindex="0"]')].filter((element) => element.checkVisibility());

  /** Boxes whose contents are wider than they are. */
  const scrolling = () =>
    [...document.querySelectorAll('body *')].filter(
      (element) => ['auto', 'scroll'].includes(getComputedStyle(element).overflowX) && element.scrollWidth > element.clientWidth,
    );

  /** Rules of the structure that axe-core does not have. */
  const structure = () => {
    const found = [];
    const rule = (selector, message) => {
      for (const element of document.querySelectorAll(selector)) found.push(`${named(element)} ${message}`);
    };
    rule('th:not([scope])', 'has no scope');
    rule('table:not(:has(> caption))', 'has no caption');
    // One within another is a part of that picture.
    rule('svg:not([aria-hidden="true"], [aria-labelledby], svg svg)', 'has no name');
    rule('[tabindex]:not([tabindex="0"], #main)', 'is out of the order of the document');
    let before = 0;
    for (const heading of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
      const level = Number(heading.localName[1]);
      if (level > before + 1) found.push(`${named(heading)} follows h${before}`);
      before = level;
    }
    if (document.querySelectorAll('h1').length !== 1) found.push('there is not one h1');
    for (const box of scrolling()) {
      if (box.getAttribute('tabindex') !== '0') found.push(`${named(box)} scrolls, and the keyboard does not reach it`);
    }
    return found;
  };

  /** Elements that make the page wider than the window. */
  const tooWide = () => {
    const page = document.documentElement;
    if (page.scrollWidth <= innerWidth) return [];
    const inBox = (element) => element.parentElement?.closest('.scroll');
    // The text of an element can be wider than the element.
    const right = (element) => {
      const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
      const range = document.createRange();
      const ends = texts.map((node) => (range.selectNode(node), range.getBoundingClientRect().right));
      return Math.max(element.getBoundingClientRect().right, ...ends);
    };
    const beyond = (element) => right(element) > innerWidth + 0.5;
    const widest = [...document.querySelectorAll('body *')].filter((element) => beyond(element) && !inBox(element));
    return [`the page is ${page.scrollWidth} px wide in a window of ${innerWidth} px: ${widest.slice(-1).map(named)}`];
  };

  /** Red, green, blue and opacity, each of 1, of a colour as CSS computes it. */
  const colour = (text) => {
    const [r, g, b, a = 1] = text.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    return [r / 255, g / 255, b / 255, a];
  };
  const over = ([r, g, b, a], [r0, g0, b0]) => [r * a + r0 * (1 - a), g * a + g0 * (1 - a), b * a + b0 * (1 - a), 1];
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const painted = (element, what) => {
    const style = getComputedStyle(element);
    if (style[what] === 'none') return undefined;
    const [r, g, b, a] = colour(style[what]);
    return [r, g, b, a * Number(style[`${what}Opacity`]) * Number(style.opacity)];
  };

  /** The colour below the middle of a text: that of the shapes drawn before it. */
  const below = (text, background) => {
    const box = text.getBBox();
    const middle = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2);
    const isBelow = (shape) =>
      shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING && shape.isPointInFill(middle);
    return [...text.ownerSVGElement.querySelectorAll('rect, path, polygon')]
      .filter(isBelow)
      .map((shape) => painted(shape, 'fill'))
      .reduce((result, fill) => (fill ? over(fill, result) : result), background);
  };

  /** Texts of pictures with a contrast below 4.5, and marks with one below 3, which axe-core does not see. */
  const pictures = () => {
    const background = over(colour(getComputedStyle(document.documentElement).backgroundColor), [1, 1, 1]);
    const found = new Set();
    for (const text of document.querySelectorAll('svg text')) {
      const beneath = below(text, background);
      const ratio = contrast(over(painted(text, 'fill'), beneath), beneath);
      if (ratio < 4.5) found.add(`text "${text.textContent}" of ${text.closest('figure')?.id} has a contrast of ${ratio.toFixed(1)}`);
    }
    for (const shape of document.querySelectorAll('svg .mark, svg .bar, svg .fill, svg .stroke, svg .outline')) {
      const drawn = ['fill', 'stroke'].map((what) => painted(shape, what)).filter((paint) => paint && paint[3] > 0);
      const best = Math.max(...drawn.map((paint) => contrast(over(paint, background), background)));
      if (best < 3) found.add(`mark .${shape.getAttribute('class')} of ${shape.closest('figure')?.id} has a contrast of ${best.toFixed(1)}`);
    }
    return [...found];
  };

  /** The element that has the focus, its place among those that the keyboard has to reach, and what is wrong with it. */
  const focused = () => {
    const all = reachable();
    const element = document.activeElement;
    const place = all.indexOf(element);
    const found = [];
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    if (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2) found.push(`${named(element)} does not show the focus`);
    if (box.right <= 0 || box.left >= innerWidth || box.bottom <= 0 || box.top >= innerHeight) {
      found.push(`${named(element)} has the focus and is not in sight`);
    }
    const isClosed = element.localName === 'summary' && !element.parentElement.open;
    return { place, count: all.length, isSkip: element.matches('a.skip'), isClosed, name: named(element), found };
  };

  /** Runs axe-core. Long tables count by their first rows: the others are like them, and would take most of the time. */
  const axe = async (rules) => {
    const exclude = ['tbody tr:nth-child(n + 16)', '.grid-table tbody:nth-of-type(n + 16)'].map((selector) => [selector]);
    const options = { resultTypes: ['violations'], ...(rules ? { runOnly: rules } : {}) };
    const { violations } = await globalThis.axe.run({ include: [document], exclude }, options);
    const first = (violation) => `${violation.nodes[0].target} (${violation.nodes.length} in all)`;
    return violations.map((violation) => `axe ${violation.id}: ${violation.help}: ${first(violation)}`);
  };

  return { structure, tooWide, pictures, focused, axe, mainHasFocus: () => document.activeElement?.id === 'main' };
})();
