// Pages that are opened as files may start no workers, and the search runs in one: here a hidden frame stands for it.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inner = this.frame.contentWindow;
      inner.postMessage = (data) => this.answer(data);
      inner.importScripts = async (...urls) => {
        for (const one of urls) await this.load(one);
      };
      this.ready = this.load(url);
    }

    answer(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }

    load(url) {
      const page = this.frame.contentDocument;
      const script = page.createElement("script");
      script.src = new URL(url, location.href).href;
      return new Promise((resolve, reject) => {
        script.onload = resolve;
        script.onerror = reject;
        page.head.appendChild(script);
      });
    }

    postMessage(data) {
      const inner = this.frame.contentWindow;
      this.ready.then(() => inner.dispatchEvent(new inner.MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
