// Changes the page as little as a new drawing asks for.
//
// Every event draws a pane anew, up to many times a second, while a person reads and types in it. So a
// drawing is compared with what is shown, and only the differences reach the document. An element with
// a key (`key`, or its id) stays the same element wherever it moves among its siblings; one without is
// matched by its place. What a person has done to an element is theirs: its focus, its selection, its
// scroll position, whether its details are open, and what was typed into it (`data-typed`).
'use strict';

// Attributes that are not taken over from a drawing. Style is: through the CSSOM, which the content
// security policy allows.
const OWN = ['open', 'style', 'data-typed'];
const HANDLERS = ['onclick', 'oninput'];

const keyOf = (node) => node.key || node.id || null;

// Show these children in `parent`: nodes, texts, lists of them; null and false are left out.
function show(parent, ...children) {
  const list = children.flat(4).filter((child) => child !== null && child !== undefined && child !== false && child !== '');
  patchChildren(parent, list.map((child) => (child instanceof Node ? child : document.createTextNode(child))));
}

function patchChildren(parent, fresh) {
  const kept = new Map();
  const wanted = new Set(fresh.map(keyOf));
  for (const child of [...parent.childNodes]) {
    const key = keyOf(child);
    if (key && wanted.has(key)) kept.set(key, child);
    else if (key) child.remove();
  }
  let at = parent.firstChild;
  for (const child of fresh) {
    const key = keyOf(child);
    const same = key ? kept.get(key) : at && !keyOf(at) ? at : null;
    if (!same || same.nodeName !== child.nodeName) {
      parent.insertBefore(child, at);
      continue;
    }
    kept.delete(key);
    if (same === at) at = at.nextSibling;
    // Unlike insertBefore it leaves focus and scroll positions alone.
    else if (parent.moveBefore) parent.moveBefore(same, at);
    else parent.insertBefore(same, at);
    patch(same, child);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function patch(node, fresh) {
  if (node.nodeType !== Node.ELEMENT_NODE) return patchText(node, fresh.data);
  for (const { name } of [...node.attributes]) if (!OWN.includes(name) && !fresh.hasAttribute(name)) node.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (!OWN.includes(name) && node.getAttribute(name) !== value) node.setAttribute(name, value);
  if (node.style.cssText !== fresh.style.cssText) node.style.cssText = fresh.style.cssText;
  for (const name of HANDLERS) if (node[name] !== fresh[name]) node[name] = fresh[name];
  patchChildren(node, [...fresh.childNodes]);
  const field = /^(INPUT|SELECT|TEXTAREA)$/.test(node.nodeName);
  if (field && !('typed' in node.dataset) && node !== document.activeElement && node.value !== fresh.value) node.value = fresh.value;
}

// A selection survives in a text that grows.
function patchText(node, text) {
  if (node.data === text) return;
  if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
  else node.data = text;
}

document.addEventListener('input', (event) => { if (event.target.dataset) event.target.dataset.typed = ''; });

// What was typed into these fields was sent: they follow the drawing again.
function forgetTyped(...ids) {
  for (const id of ids) {
    const field = document.getElementById(id);
    if (field) delete field.dataset.typed;
  }
}
