"use strict";
(() => {
  const BATCH = 24;
  const STATES = { ok: ["✓", "ok"], flagged: ["⚑", "flagged"], failed: ["✕", "failed"], none: ["–", "no cue"] };
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const cards = data.cards.map((card, index) => ({ ...card, index, text: searchText(card) }));
  const nCues = cards.reduce((sum, card) => sum + card.cues.length, 0);
  const drawn = new Map();
  const pictures = new Map();
  let view = initialView();
  let shown = [];
  let nDrawn = 0;
  let sequence = [];
  let current = [];

  // ---- small tools -------------------------------------------------------------------------------------
  // Every text of the run reaches the page as a text node or an attribute, never as markup.
  function el(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "onclick") node.addEventListener("click", value);
      else if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return node;
  }
  function svg(tag, attributes, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }
  const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
  const compareText = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const baseName = (path) => path.slice(path.lastIndexOf("/") + 1);
  const words = (name) => name.replaceAll("_", " ");
  const nameOf = (card) => `${words(card.superclass)}, ${baseName(card.source.file_name || "not in sources.jsonl")}`;
  const groupKey = (kind, superclass) => `${kind}/${superclass}`;
  const cueName = (cue, kind) =>
    cue.grid ? `${cue.grid}×${cue.grid}${cue.variant ? ` · variant ${cue.variant}` : ""}` : kind;
  const webAddress = (text) => (/^https?:\/\//i.test(text || "") ? text : null);
  // "./" and the encoding keep a file name a file name, whatever it looks like.
  const fileAddress = (path) => `./${path.split("/").map(encodeURIComponent).join("/")}`;
  function searchText(card) {
    const ofCue = (cue) => [cue.cue_id, cue.file_name, cue.status, cue.status_detail, cue.flags, cue.sha256];
    const texts = [card.kind, card.superclass, Object.values(card.source), card.status, card.status_detail, card.flags,
      card.mask.segmenter, card.mask.mask_reason, card.mask.mask_sha256, card.cues.map(ofCue)];
    return texts.flat(3).filter(Boolean).join(" ").toLowerCase();
  }

  function picturesOf(card) {
    if (!card.has_pictures) return { photograph: null, outline: null, cues: [] };
    if (!pictures.has(card.index)) {
      pictures.set(card.index, JSON.parse(byId(`pictures-${card.index}`).textContent));
    }
    return pictures.get(card.index);
  }
  function limitOf(card, cue, name) {
    const { shape = {}, texture = {}, texture_by_grid: byGrid = {} } = data.limits;
    return card.kind === "shape" ? shape[name] : ((byGrid[String(cue.grid)] || {})[name] || texture[name]);
  }
  const isOutside = (value, limit) =>
    limit !== undefined && ((limit.min !== undefined && value < limit.min) || (limit.max !== undefined && value > limit.max));
  function limitText(limit) {
    if (!limit) return "";
    if (limit.min === undefined) return `≤ ${limit.max}`;
    return limit.max === undefined ? `≥ ${limit.min}` : `${limit.min} – ${limit.max}`;
  }
  const flagChip = (flag) => el("span", { class: "chip", title: data.flag_meanings[flag] || data.meanings[flag] }, `⚑ ${words(flag)}`);
  const badge = (state, text) => {
    const [icon, word] = STATES[state];
    return el("span", { class: `badge ${state}` }, `${icon} ${text || word}`);
  };

  // ---- which cards, in which order -----------------------------------------------------------------------
  function initialView() {
    return { kind: "", classes: [], state: "", status: "", flag: "", q: "", sort: "", descending: false, outline: true };
  }
  function viewFromAddress() {
    const found = initialView();
    const given = new URLSearchParams(location.hash.slice(1));
    for (const name of ["kind", "state", "status", "flag", "q", "sort"]) found[name] = given.get(name) || "";
    found.classes = given.getAll("class");
    found.descending = given.get("order") === "descending";
    found.outline = given.get("outline") !== "off";
    return found;
  }
  function addressOfView() {
    const given = new URLSearchParams();
    for (const name of ["kind", "state", "status", "flag", "q", "sort"]) if (view[name]) given.set(name, view[name]);
    for (const key of view.classes) given.append("class", key);
    if (view.descending) given.set("order", "descending");
    if (!view.outline) given.set("outline", "off");
    return given.toString();
  }
  const unfiltered = () => ({ ...initialView(), outline: view.outline, sort: view.sort, descending: view.descending });
  const filtersCues = () => Boolean(view.state || view.status || view.flag);
  const matchesCue = (card, cue) =>
    (!view.state || cue.state === view.state) &&
    (!view.status || cue.status === view.status || card.status === view.status) &&
    (!view.flag || (cue.flags || []).includes(view.flag) || card.flags.includes(view.flag));
  const matchesEmpty = (card) =>
    (!view.state || view.state === "none") &&
    (!view.status || card.status === view.status) &&
    (!view.flag || card.flags.includes(view.flag));
  function matches(card) {
    if (view.kind && card.kind !== view.kind) return false;
    if (view.classes.length && !view.classes.includes(groupKey(card.kind, card.superclass))) return false;
    if (!view.q.toLowerCase().split(/\s+/).every((word) => card.text.includes(word))) return false;
    return card.cues.length ? card.cues.some((cue) => matchesCue(card, cue)) : matchesEmpty(card);
  }
  function sortValue(card) {
    const values = card.cues.filter((cue) => matchesCue(card, cue) && view.sort in cue.quality)
      .map((cue) => cue.quality[view.sort]);
    if (!values.length) return null;
    return view.descending ? Math.max(...values) : Math.min(...values);
  }
  function ordered(list) {
    const sign = view.descending ? -1 : 1;
    if (view.sort === "file") {
      const key = (card) => card.source.file_name || "";
      return [...list].sort((a, b) => sign * compareText(key(a), key(b)) || a.index - b.index);
    }
    if (!view.sort) return view.descending ? [...list].reverse() : list;
    return list.map((card) => [sortValue(card), card])
      .sort(([a, x], [b, y]) => (a === null) - (b === null) || sign * (a - b) || x.index - y.index)
      .map(([, card]) => card);
  }

  // ---- header and filters ----------------------------------------------------------------------------------
  function bar(counts) {
    const names = ["ok", "flagged", "failed", "none"].filter((name) => counts[name]);
    const text = names.map((name) => `${counts[name]} ${STATES[name][1]}`).join(", ");
    const node = el("div", { class: "bar", role: "img", "aria-label": text, title: text });
    for (const name of names) {
      const part = el("span", { class: name });
      part.style.flex = `${counts[name]} 0 0`;
      node.append(part);
    }
    return node;
  }
  function drawHeader() {
    const { run, groups } = data;
    byId("run-name").textContent = run.recipe === run.folder ? run.recipe : `${run.recipe} · ${run.folder}`;
    const hashes = run.recipe_sha256;
    const facts = [
      ["Recipe hash", hashes.length ? el("code", { title: hashes.join("\n") }, hashes.map((hash) => hash.slice(0, 12)).join(", ")) : ""],
      ["Masks", run.segmenter.join(", ")],
      ["Side", run.side_px ? `${run.side_px} px` : ""],
      ["Seed", run.seed === null || run.seed === undefined ? "" : String(run.seed)],
      ["Generator", run.generator_version.join(", ")],
      ["Classes", ["shape", "texture"].map((kind) => [groups.filter((group) => group.kind === kind).length, kind])
        .filter(([n]) => n).map(([n, kind]) => `${n} ${kind}`).join(", ")],
    ];
    byId("facts").append(...facts.filter(([, value]) => value !== "")
      .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
    const total = { ok: 0, flagged: 0, failed: 0, none: 0 };
    for (const group of groups) for (const name in total) total[name] += group[name];
    const line = el("p", {}, el("span", {}, el("strong", {}, run.n_cues.toLocaleString("en")), " cues of ",
      el("strong", {}, run.n_sources.toLocaleString("en")), run.n_sources === 1 ? " photograph" : " photographs"));
    const parts = el("p", {}, ...Object.keys(total).filter((name) => total[name]).map((name) =>
      el("button", { type: "button", class: `text-${name}`, "aria-label": `${total[name]} ${STATES[name][1]}: show only these`,
        onclick: () => change({ ...unfiltered(), state: name }) },
        `${STATES[name][0]} `, el("strong", {}, total[name].toLocaleString("en")), ` ${STATES[name][1]}`)));
    byId("totals").append(line, parts, bar(total));
    byId("notices").append(...data.notices.map((text) => el("p", { class: "notice", role: "note" }, text)));
  }
  function drawClassTables() {
    for (const kind of ["shape", "texture"]) {
      const groups = data.groups.filter((group) => group.kind === kind);
      if (!groups.length) continue;
      const heads = ["ok", "flagged", "failed"].map((name) => el("th", { scope: "col", title: STATES[name][1], class: `number text-${name}` },
        STATES[name][0], el("span", { class: "visually-hidden" }, ` ${STATES[name][1]}`)));
      byId("class-tables").append(el("table", {}, el("caption", {}, kind === "shape" ? "Shape classes" : "Texture classes"),
        el("thead", {}, el("tr", {}, el("td"), el("td", { class: "share" }), ...heads)),
        el("tbody", {}, ...groups.map(classRow))));
    }
  }
  function classRow(group) {
    const key = groupKey(group.kind, group.superclass);
    const cell = (name) => el("td", {}, el("button", {
      type: "button", class: group[name] ? `text-${name}` : "", disabled: group[name] ? false : "",
      "aria-label": `${group[name]} ${STATES[name][1]} in ${group.superclass}: show only these`,
      onclick: () => change({ classes: [key], state: name, status: "", flag: "" }),
    }, String(group[name])));
    const title = `${words(group.superclass)}: ${count(group.n_sources, "photograph")}${group.none ? `, ${group.none} without a cue` : ""}`;
    return el("tr", { "data-key": key },
      el("th", { scope: "row" }, el("button", { type: "button", title, onclick: () => toggleClass(key) }, words(group.superclass))),
      el("td", { class: "share" }, bar(group)), ...["ok", "flagged", "failed"].map(cell));
  }
  function toggleClass(key) {
    const has = view.classes.includes(key);
    change({ classes: has ? view.classes.filter((other) => other !== key) : [...view.classes, key] });
  }
  function segments(id, choices) {
    byId(id).append(...choices.map(([value, text]) =>
      el("button", { type: "button", "data-value": value, onclick: () => change({ [id]: value }) }, text)));
  }
  function options(id, first, counts) {
    const entries = [...counts].sort(([a], [b]) => compareText(a, b));
    byId(id).append(el("option", { value: "" }, first),
      ...entries.map(([value, n]) => el("option", { value }, `${words(value)} (${n.toLocaleString("en")})`)));
    if (!entries.length) byId(id).parentElement.hidden = true;
  }
  function drawFilters() {
    const statuses = new Map();
    const flags = new Map();
    const numbers = new Set();
    const add = (map, key) => map.set(key, (map.get(key) || 0) + 1);
    for (const card of cards) {
      if (card.status !== "ok") add(statuses, card.status);
      for (const flag of card.flags) add(flags, flag);
      for (const cue of card.cues) {
        if (cue.status !== "ok") add(statuses, cue.status);
        for (const flag of cue.flags || []) add(flags, flag);
        Object.keys(cue.quality).forEach((name) => numbers.add(name));
      }
    }
    const kinds = ["shape", "texture"].filter((kind) => cards.some((card) => card.kind === kind));
    segments("kind", [["", "Both"], ...kinds.map((kind) => [kind, kind === "shape" ? "Shape" : "Texture"])]);
    byId("kind").hidden = kinds.length < 2;
    const states = Object.keys(STATES).filter((name) => name !== "none" || cards.some((card) => !card.cues.length));
    segments("state", [["", "All"], ...states.map((name) => [name, `${STATES[name][0]} ${STATES[name][1]}`])]);
    options("status", "any", statuses);
    options("flag", "any", flags);
    byId("sort").append(el("option", { value: "" }, "class"), el("option", { value: "file" }, "file name"),
      ...[...numbers].sort(compareText).map((name) => el("option", { value: name }, words(name))));
    for (const id of ["status", "flag", "sort"]) byId(id).addEventListener("change", (event) => change({ [id]: event.target.value }));
    byId("q").addEventListener("input", (event) => change({ q: event.target.value.trim() }));
    byId("outline").addEventListener("change", (event) => change({ outline: event.target.checked }));
    byId("direction").addEventListener("click", () => change({ descending: !view.descending }));
    byId("tools").addEventListener("submit", (event) => event.preventDefault());
    byId("tools").addEventListener("reset", (event) => {
      event.preventDefault();
      change(unfiltered());
    });
  }
  function showControls() {
    for (const id of ["kind", "state"]) {
      for (const button of byId(id).querySelectorAll("button")) {
        button.setAttribute("aria-pressed", String(button.dataset.value === view[id]));
      }
    }
    for (const id of ["status", "flag", "sort"]) byId(id).value = view[id];
    if (byId("q").value.trim() !== view.q) byId("q").value = view.q;
    byId("outline").checked = view.outline;
    document.body.classList.toggle("no-outline", !view.outline);
    byId("direction").textContent = view.descending ? "↓" : "↑";
    const direction = view.descending ? "Descending: click for ascending" : "Ascending: click for descending";
    byId("direction").setAttribute("aria-label", direction);
    byId("direction").title = direction;
    byId("reset").disabled = !(view.kind || view.classes.length || filtersCues() || view.q);
    for (const row of document.querySelectorAll("tr[data-key]")) {
      const chosen = view.classes.includes(row.dataset.key);
      row.classList.toggle("chosen", chosen);
      row.querySelector("th button").setAttribute("aria-pressed", String(chosen));
    }
  }

  // ---- cards ------------------------------------------------------------------------------------------------
  function photographFrame(card, tag, attributes) {
    const { photograph, outline } = picturesOf(card);
    const source = card.source;
    if (!photograph && !outline) {
      const why = card.status !== "ok" ? card.status : "not shown";
      const sentence = card.status !== "ok" ? card.status_detail
        : card.has_pictures ? "The photograph was not found beside the run." : "No pictures of this photograph in this page.";
      return absentFrame(tag, attributes, "none", why, sentence);
    }
    const width = source.width || (outline ? outline.width : 1);
    const height = source.height || (outline ? outline.height : 1);
    const fit = el("span", { class: "fit" });
    fit.style.width = width < height ? `${(100 * width) / height}%` : "100%";
    fit.style.height = height < width ? `${(100 * height) / width}%` : "100%";
    if (photograph) fit.append(el("img", { src: photograph, alt: `Photograph of ${nameOf(card)}`, decoding: "async" }));
    if (outline) {
      const box = `M0 0H${outline.width}V${outline.height}H0Z`;
      fit.append(svg("svg", { class: "outline", viewBox: `0 0 ${outline.width} ${outline.height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("path", { class: "veil", d: box + outline.path }), svg("path", { class: "under", d: outline.path }),
        svg("path", { class: "over", d: outline.path })));
    }
    return el(tag, { ...attributes, class: "frame" }, fit);
  }
  function absentFrame(tag, attributes, state, status, sentence) {
    return el(tag, { ...attributes, class: `frame absent ${state}` },
      el("strong", { class: `text-${state}` }, `${STATES[state][0]} ${words(status)}`),
      el("span", { class: "sentence" }, sentence || ""));
  }
  function cueFrame(card, cue, tag, attributes) {
    const picture = picturesOf(card).cues[card.cues.indexOf(cue)];
    if (cue.state === "failed") return absentFrame(tag, attributes, "failed", cue.status, cue.status_detail);
    if (!picture) {
      const sentence = card.has_pictures ? `The file ${cue.file_name || ""} is missing or can't be read.`
        : "No pictures of this photograph in this page; the cue opens from the run folder.";
      return absentFrame(tag, attributes, card.has_pictures ? "failed" : "none", card.has_pictures ? "file missing" : "not shown", sentence);
    }
    const alt = `${card.kind === "shape" ? "Shape" : `Texture ${cueName(cue, "")}`} cue of ${nameOf(card)}`;
    return el(tag, { ...attributes, class: "frame" }, el("span", { class: "fit" }, el("img", { src: picture, alt, decoding: "async" })));
  }
  function cueLabel(card, cue) {
    const value = cue.quality[view.sort];
    return [el("span", { class: "name" }, cueName(cue, card.kind)),
      cue.state === "flagged" ? null : badge(cue.state),
      ...(cue.flags || []).map((flag) => flagChip(flag)),
      value === undefined ? null : el("span", { class: "value" }, `${words(view.sort)} ${value}`)];
  }
  function cueTile(card, cue) {
    const text = Object.entries(cue.quality).sort(([a], [b]) => compareText(a, b))
      .map(([name, value]) => `${words(name)}: ${value}${isOutside(value, limitOf(card, cue, name)) ? `  (limit ${limitText(limitOf(card, cue, name))})` : ""}`).join("\n");
    const frame = cueFrame(card, cue, "button", { type: "button", title: text, onclick: () => openViewer(card, cue),
      "aria-label": `Enlarge ${cueName(cue, card.kind)} of ${nameOf(card)}, ${cue.state === "failed" ? `${cue.status}: ${cue.status_detail || ""}` : cue.state}` });
    return el("figure", { class: "tile cue", "data-cue": cue.cue_id }, frame, el("figcaption", { class: "label" }));
  }
  function credit(source) {
    const licence = source.license_spdx && source.license_spdx !== "NOASSERTION" ? source.license_spdx : "licence not stated";
    const link = (address, text) => (webAddress(address) ? el("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, text) : text);
    const by = source.author ? `${source.author} · ` : "";
    const from = source.origin || (source.landing_url ? "source" : "");
    return el("p", { class: "credit" }, by, link(source.license_url, licence), from ? " · " : "", from ? link(source.landing_url, from) : "");
  }
  function drawCard(card) {
    const source = card.source;
    const enlarge = { type: "button", onclick: () => openViewer(card, card.cues[0]), "aria-label": `Enlarge the photograph of ${nameOf(card)}` };
    const label = el("figcaption", { class: "label" }, el("span", { class: "name" }, "photograph"),
      card.status === "ok" ? null : badge("none", words(card.status)),
      ...card.flags.map((flag) => flagChip(flag)));
    const tiles = [el("figure", { class: "tile" }, photographFrame(card, "button", enlarge), label)];
    if (card.cues.length) tiles.push(...card.cues.map((cue) => cueTile(card, cue)));
    else tiles.push(el("div", { class: "tile" }, absentFrame("div", {}, "none", "no cue", card.status === "ok" ? "No cue was attempted." : "The photograph can't be used.")));
    const name = source.file_name || "(not in sources.jsonl)";
    const details = el("details", { class: "more-facts" }, el("summary", {}, "Numbers, mask and provenance"));
    details.addEventListener("toggle", () => { if (details.open && details.children.length === 1) details.append(...facts(card)); });
    return el("article", { class: card.cues.length > 1 ? "card wide" : "card", "data-card": String(card.index), "aria-label": `${card.superclass}, ${name}` },
      el("header", {}, el("h3", { title: words(card.superclass) }, words(card.superclass)), el("span", { class: "file", title: name }, baseName(name))),
      el("div", { class: "tiles" }, ...tiles), source.file_name ? credit(source) : null, details);
  }
  function facts(card) {
    const section = (title, ...children) => el("section", {}, el("h4", {}, title), ...children);
    return [card.cues.length ? section("Quality numbers", numbersTable(card)) : null,
      Object.keys(card.mask).length ? section("Mask", maskFacts(card.mask)) : null,
      ...card.cues.map((cue) => section(`Cue ${cueName(cue, card.kind)}`, pairs(cue, ["quality", "state", "flags"]))),
      section("Photograph", pairs({ ...card.source, status: card.status, status_detail: card.status_detail }, []))].filter(Boolean);
  }
  function numbersTable(card) {
    const names = [...new Set(card.cues.flatMap((cue) => Object.keys(cue.quality)))].sort(compareText);
    if (!names.length) return el("p", { class: "muted" }, "Nothing was measured.");
    const head = el("tr", {}, el("th", { scope: "col" }, "number"), ...card.cues.map((cue) => el("th", { scope: "col" }, cueName(cue, card.kind))));
    const cell = (cue, name) => {
      const value = cue.quality[name];
      const limit = limitOf(card, cue, name);
      if (value === undefined) return el("td", {}, "–");
      return el("td", { class: isOutside(value, limit) ? "outside" : null }, isOutside(value, limit) ? "⚑ " : "", String(value),
        limit ? el("span", { class: "muted" }, ` (${limitText(limit)})`) : "");
    };
    const rows = names.map((name) => el("tr", {}, el("th", { scope: "row" }, el("span", { title: data.meanings[name] }, words(name))),
      ...card.cues.map((cue) => cell(cue, name))));
    return el("div", { class: "scroll" }, el("table", { class: "numbers" }, el("thead", {}, head), el("tbody", {}, ...rows)));
  }
  function maskFacts(mask) {
    const { mask_candidates: candidates = [], ...rest } = mask;
    const nodes = [pairs(rest, [])];
    const isText = (name) => candidates.some((candidate) => typeof candidate[name] === "string");
    const names = [...new Set(candidates.flatMap((candidate) => Object.keys(candidate)))].sort((a, b) => isText(b) - isText(a));
    if (candidates.length) {
      const number = (value) => (typeof value === "number" ? String(Number(value.toPrecision(4))) : value);
      nodes.push(el("div", { class: "scroll" }, el("table", { class: "numbers" }, el("caption", { class: "visually-hidden" }, "Candidates"),
        el("thead", {}, el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, words(name))))),
        el("tbody", {}, ...candidates.map((candidate) => el("tr", {}, ...names.map((name) =>
          el("td", { class: typeof candidate[name] === "string" ? "text" : null }, name in candidate ? number(candidate[name]) : "–"))))))));
    }
    return el("div", {}, ...nodes);
  }
  function pairs(content, hidden) {
    const value = (name, item) => {
      const text = Array.isArray(item) ? item.join(", ") : String(item);
      if (webAddress(text)) return el("a", { href: text, rel: "noopener noreferrer", target: "_blank" }, text);
      if (name === "file_name" && "cue_id" in content) return el("a", { href: fileAddress(text), target: "_blank", rel: "noopener" }, text);
      return /sha256|_id$|seed|file_name|phash/.test(name) ? el("code", {}, text) : text;
    };
    return el("dl", { class: "pairs" }, ...Object.keys(content).filter((name) => !hidden.includes(name) && content[name] !== undefined && content[name] !== "")
      .flatMap((name) => [el("dt", {}, words(name)), el("dd", {}, value(name, content[name]))]));
  }
  function nodeOf(card) {
    if (!drawn.has(card.index)) drawn.set(card.index, drawCard(card));
    const node = drawn.get(card.index);
    for (const [index, tile] of node.querySelectorAll(".tile.cue").entries()) {
      const cue = card.cues[index];
      tile.classList.toggle("dimmed", filtersCues() && !matchesCue(card, cue));
      tile.querySelector("figcaption").replaceChildren(...cueLabel(card, cue).filter(Boolean));
    }
    return node;
  }
  function drawMore(n = BATCH) {
    byId("cards").append(...shown.slice(nDrawn, nDrawn + n).map(nodeOf));
    nDrawn = Math.min(nDrawn + n, shown.length);
    byId("more").hidden = nDrawn >= shown.length;
    byId("more").textContent = `Show more (${(shown.length - nDrawn).toLocaleString("en")} left)`;
  }
  function drawView() {
    showControls();
    shown = ordered(cards.filter(matches));
    const n = shown.reduce((sum, card) => sum + card.cues.filter((cue) => matchesCue(card, cue)).length, 0);
    byId("counter").textContent = `showing ${shown.length.toLocaleString("en")} of ${count(cards.length, "photograph")}, ${n.toLocaleString("en")} of ${count(nCues, "cue")}`;
    byId("empty").hidden = shown.length > 0;
    byId("cards").replaceChildren();
    nDrawn = 0;
    drawMore();
  }
  function change(part) {
    view = { ...view, ...part };
    history.replaceState(null, "", `#${addressOfView()}`);
    drawView();
  }

  // ---- the enlarged view ------------------------------------------------------------------------------------
  function openViewer(card, cue) {
    const cuesOf = (one) => one.cues.filter((each) => matchesCue(one, each)).map((each) => [one, each]);
    sequence = shown.flatMap((one) => (one.cues.length ? cuesOf(one) : [[one, undefined]]));
    show(card, cue);
    byId("viewer").showModal();
    byId("viewer").focus();
  }
  const placeOf = (card, cue) => sequence.findIndex(([one, each]) => one === card && each === cue);
  function show(card, cue) {
    current = [card, cue];
    drawViewer();
  }
  // A cue that the filters leave out has no place of its own; its neighbours are those of its photograph.
  function moveCue(step) {
    const place = placeOf(...current);
    const next = place >= 0 ? sequence[place + step] : neighbour(step);
    if (next) show(...next);
  }
  function neighbour(step) {
    const index = shown.indexOf(current[0]);
    const beyond = ([one]) => step * (shown.indexOf(one) - index) > 0;
    return step > 0 ? sequence.find(beyond) : sequence.findLast(beyond);
  }
  function movePhotograph(step) {
    const next = neighbour(step);
    if (!next) return;
    const grid = current[1] && current[1].grid;
    show(...(sequence.find(([one, cue]) => one === next[0] && cue && cue.grid === grid) || sequence.find(([one]) => one === next[0])));
  }
  function drawViewer() {
    const [card, cue] = current;
    const place = placeOf(card, cue);
    byId("viewer-title").textContent = `${words(card.superclass)} · ${cue ? (cue.grid ? `texture ${cueName(cue, "")}` : card.kind) : card.kind}`;
    byId("viewer-place").textContent = place < 0 ? "outside of the filters"
      : `${(place + 1).toLocaleString("en")} of ${sequence.length.toLocaleString("en")}`;
    byId("previous").setAttribute("aria-disabled", String(place === 0));
    byId("next").setAttribute("aria-disabled", String(place === sequence.length - 1));
    const name = card.source.file_name || "(not in sources.jsonl)";
    const left = el("figure", {}, photographFrame(card, "div", {}), el("figcaption", {}, el("span", { class: "muted", title: name }, baseName(name))));
    const right = cue ? el("figure", {}, cueFrame(card, cue, "div", {}), el("figcaption", {}, ...viewerLabel(card, cue)))
      : el("figure", {}, absentFrame("div", {}, "none", "no cue", card.status_detail || "No cue was attempted."));
    const body = [el("div", { class: "viewer-pair" }, left, right)];
    if (card.cues.length > 1) {
      body.push(el("div", { class: "strip", role: "group", "aria-label": "Cues of this photograph" }, ...card.cues.map((other) =>
        el("button", { type: "button", "aria-current": other === cue ? "true" : null, onclick: () => show(card, other) },
          `${cueName(other, card.kind)} ${STATES[other.state][0]}`))));
    }
    if (cue) body.push(viewerNumbers(card, cue));
    const focused = document.activeElement && document.activeElement.closest(".strip");
    byId("viewer-body").replaceChildren(...body);
    if (focused) byId("viewer-body").querySelector("[aria-current]").focus();
  }
  function viewerLabel(card, cue) {
    const file = cue.file_name ? el("a", { href: fileAddress(cue.file_name), target: "_blank", rel: "noopener" },
      cue.width ? `open the file, ${cue.width} × ${cue.height} px` : "open the file") : null;
    return [badge(cue.state), ...(cue.flags || []).map((flag) => flagChip(flag)), file].filter(Boolean);
  }
  function viewerNumbers(card, cue) {
    return el("dl", { class: "viewer-numbers" }, ...Object.entries(cue.quality).sort(([a], [b]) => compareText(a, b)).map(([name, value]) => {
      const limit = limitOf(card, cue, name);
      const outside = isOutside(value, limit);
      return el("div", { class: outside ? "outside" : null, title: data.meanings[name] }, el("dt", {}, words(name)),
        el("dd", {}, `${outside ? "⚑ " : ""}${value}`, limit ? el("span", { class: "muted" }, ` (${limitText(limit)})`) : ""));
    }));
  }
  function watchViewer() {
    const viewer = byId("viewer");
    byId("previous").addEventListener("click", () => moveCue(-1));
    byId("next").addEventListener("click", () => moveCue(1));
    byId("close").addEventListener("click", () => viewer.close());
    viewer.addEventListener("click", (event) => { if (event.target === viewer) viewer.close(); });
    viewer.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const act = { ArrowLeft: () => moveCue(-1), ArrowRight: () => moveCue(1), ArrowUp: () => movePhotograph(-1),
        ArrowDown: () => movePhotograph(1), o: () => change({ outline: !view.outline }) }[event.key];
      if (act) { event.preventDefault(); act(); }
    });
    viewer.addEventListener("close", () => {
      const [card, cue] = current;
      const index = shown.indexOf(card);
      if (index >= nDrawn) drawMore(index + 1 - nDrawn);
      const tile = cue ? card.cues.indexOf(cue) + 1 : 0;
      const target = drawn.get(card.index).querySelectorAll(".tile")[tile].querySelector("button");
      target.focus({ preventScroll: true });
      target.scrollIntoView({ block: "center" });
    });
  }

  drawHeader();
  drawClassTables();
  drawFilters();
  watchViewer();
  if (matchMedia("(max-width: 1000px)").matches) byId("classes").open = false;
  matchMedia("(max-width: 1000px)").addEventListener("change", (event) => { byId("classes").open = !event.matches; });
  view = viewFromAddress();
  drawView();
  byId("more").addEventListener("click", () => drawMore());
  const sentinel = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    drawMore();
    // Observed anew it reports again, should the end of the list still be near.
    sentinel.unobserve(byId("more"));
    sentinel.observe(byId("more"));
  }, { rootMargin: "900px" });
  sentinel.observe(byId("more"));
  addEventListener("hashchange", () => { view = viewFromAddress(); drawView(); });
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || byId("viewer").open || event.target.closest("input, select")) return;
    event.preventDefault();
    byId("q").focus();
  });
  byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("cards").focus(); });
})();
