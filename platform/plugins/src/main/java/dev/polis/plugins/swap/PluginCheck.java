package dev.polis.plugins.swap;

import java.io.IOException;
import java.nio.file.Path;

/** Decides whether a bundle may run on this node, before any of its classes is loaded. */
@FunctionalInterface
public interface PluginCheck {

  /**
   * Verifies a bundle.
   *
   * @param bundle its file
   * @param manifest its manifest with the signature
   * @return its signer, as a text for people
   * @throws SwapRefusedException if it may not run
   * @throws IOException if the file cannot be read
   */
  String verify(Path bundle, byte[] manifest) throws SwapRefusedException, IOException;
}
