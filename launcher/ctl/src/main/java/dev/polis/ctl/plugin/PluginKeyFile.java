package dev.polis.ctl.plugin;

import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlFiles;
import dev.polis.ctl.session.CtlName;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Pem;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.PublicKey;

/** Reads and writes the files of a key that signs plugins: the private key, and the public one. */
final class PluginKeyFile {
  private static final String PUBLIC = ".pub";

  private PluginKeyFile() {}

  /** Returns where the public half of a key lies. */
  static Path publicFile(Path privateFile) {
    return privateFile.resolveSibling(privateFile.getFileName() + PUBLIC);
  }

  /** Makes a key; refuses to replace a file. */
  static PublicKey make(Path file) {
    for (Path each : new Path[] {file, publicFile(file)}) {
      if (Files.exists(each)) {
        throw new CtlException(
            "%s exists, and polisctl never replaces a key: plugins with its signature would lose their key; choose another file"
                .formatted(each));
      }
    }
    KeyPair pair = Ed25519.generate();
    CtlFiles.write(file, Pem.encode(pair.getPrivate()).getBytes(StandardCharsets.US_ASCII));
    CtlFiles.write(
        publicFile(file), Pem.encode(pair.getPublic()).getBytes(StandardCharsets.US_ASCII));
    return pair.getPublic();
  }

  static PrivateKey readPrivate(Path file) {
    String pem =
        CtlFiles.read(
            file, "make a key with: %s plugin key make %s".formatted(CtlName.called(), file));
    return CtlFiles.parse(
        file, pem, Pem::privateKey, "private Ed25519 key", "restore it from your copy");
  }

  static PublicKey readPublic(Path file) {
    String pem = CtlFiles.read(file, "name the public key, which ends in " + PUBLIC);
    return CtlFiles.parse(
        file, pem, Pem::publicKey, "public Ed25519 key", "name the file that ends in " + PUBLIC);
  }
}
