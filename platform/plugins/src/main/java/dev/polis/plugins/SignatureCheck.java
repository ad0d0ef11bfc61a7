package dev.polis.plugins;

import dev.polis.plugins.manifest.PluginRefusedException;
import dev.polis.plugins.manifest.PluginVerifier;
import dev.polis.plugins.manifest.TrustRoots;
import dev.polis.plugins.swap.PluginCheck;
import dev.polis.plugins.swap.SwapRefusedException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Supplier;

/** Accepts plugins with a signature that the cluster trusts at this moment. */
final class SignatureCheck implements PluginCheck {
  private final PluginVerifier verifier;
  private final Supplier<TrustRoots> trusted;

  SignatureCheck(PluginVerifier verifier, Supplier<TrustRoots> trusted) {
    this.verifier = verifier;
    this.trusted = trusted;
  }

  @Override
  public String verify(Path bundle, byte[] manifest) throws SwapRefusedException, IOException {
    try {
      return "signed by " + verifier.verify(bundle, manifest, trusted.get()).signer();
    } catch (PluginRefusedException e) {
      throw new SwapRefusedException(e.getMessage(), e);
    }
  }
}
