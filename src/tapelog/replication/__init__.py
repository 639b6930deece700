"""A partition as its leader sees it: log end, durable end, high watermark, and who waits for them."""
