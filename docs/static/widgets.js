// What Jupyter's widget manager needs before it starts (it is loaded next).

// It would fetch anywidget from a CDN unless it is told where the site's own copy lies.
requirejs.config({
  paths: { anywidget: (document.documentElement.dataset.content_root || "./") + "_static/npm/anywidget" },
});

// It asks for labels to be typeset in the manner of MathJax 2; the site has MathJax 3.
document.addEventListener("DOMContentLoaded", () => {
  if (window.MathJax) MathJax.Hub = { Queue: ([, , element]) => MathJax.typesetPromise?.([element]) };
});
