// Small hands for the page. Words become text nodes, so nothing that was read can become markup.

export const find = (id) => document.getElementById(id);

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") element.className = value;
    else if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A picture that the server may not have: it goes away instead of showing a broken sign.
export function picture(source, words) {
  const image = make("img", { src: source, alt: words });
  const figure = make("figure", {}, image, make("figcaption", {}, words));
  image.addEventListener("error", () => figure.remove());
  return figure;
}
