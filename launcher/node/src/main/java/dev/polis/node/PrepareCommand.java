package dev.polis.node;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.interfaces.EdECPrivateKey;
import java.security.interfaces.EdECPublicKey;
import java.security.interfaces.XECPublicKey;
import java.util.Base64;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Makes what a person needs to found a cluster: the owner's keys, and the parameters of the first
 * node. Keeps what is there.
 */
@Command(
    name = "prepare",
    description = "Make owner keys and bootstrap parameters for a first node.")
final class PrepareCommand implements Callable<Integer> {
  private static final int KEY_BYTES = 32;
  private static final int PEM_COLUMNS = 64;

  @Option(
      names = "--owner",
      required = true,
      paramLabel = "DIR",
      description = "Folder for owner-key.pem, recovery-key.pem and parameters.json.")
  private Path owner;

  @Option(
      names = "--security",
      paramLabel = "MODE",
      defaultValue = "",
      description =
          "What the cluster demands of data volumes: insecure, encrypted, authenticated-encrypted; default: leaves it to each node.")
  private String security;

  @Override
  public Integer call() throws Exception {
    Path parameters = owner.resolve("parameters.json");
    if (Files.exists(parameters)) {
      return Exit.OK;
    }
    JsonObject configuration = new JsonObject();
    configuration.addProperty("clusterDomain", "cluster.internal");
    configuration.addProperty("tpmMode", "TPM_MODE_BEST_EFFORT");
    configuration.addProperty("storageSecurityPolicy", policy());
    Files.createDirectories(
        owner, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    JsonObject bootstrap = new JsonObject();
    bootstrap.addProperty("ownerPublicKey", ownerKey());
    bootstrap.addProperty("recoveryPublicKey", recoveryKey());
    bootstrap.add("initialClusterConfiguration", configuration);
    JsonObject root = new JsonObject();
    root.add("clusterBootstrap", bootstrap);
    // Last: a run that is cut short begins anew.
    write(
        parameters,
        new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create().toJson(root) + "\n");
    return Exit.OK;
  }

  private String policy() throws Refusal {
    return switch (security) {
      case "" -> "STORAGE_SECURITY_POLICY_PERMISSIVE";
      case "insecure" -> "STORAGE_SECURITY_POLICY_NEEDS_INSECURE";
      case "encrypted" -> "STORAGE_SECURITY_POLICY_NEEDS_ENCRYPTION";
      case "authenticated-encrypted" ->
          "STORAGE_SECURITY_POLICY_NEEDS_ENCRYPTION_AND_AUTHENTICATION";
      default ->
          throw new Refusal(
              Exit.USAGE,
              "--security \""
                  + security
                  + "\": write insecure, encrypted or authenticated-encrypted",
              null);
    };
  }

  /** In the form existing clients read: the seed and the public key, one after the other. */
  private String ownerKey() throws GeneralSecurityException, IOException {
    KeyPair pair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair();
    EdECPublicKey publicKey = (EdECPublicKey) pair.getPublic();
    byte[] raw = littleEndian(publicKey.getPoint().getY());
    if (publicKey.getPoint().isXOdd()) {
      raw[KEY_BYTES - 1] |= (byte) 0x80;
    }
    byte[] seed = ((EdECPrivateKey) pair.getPrivate()).getBytes().orElseThrow();
    byte[] both = new byte[2 * KEY_BYTES];
    System.arraycopy(seed, 0, both, 0, KEY_BYTES);
    System.arraycopy(raw, 0, both, KEY_BYTES, KEY_BYTES);
    write(owner.resolve("owner-key.pem"), pem("METROPOLIS INITIAL OWNER PRIVATE KEY", both));
    return Base64.getEncoder().encodeToString(raw);
  }

  private String recoveryKey() throws GeneralSecurityException, IOException {
    KeyPair pair = KeyPairGenerator.getInstance("X25519").generateKeyPair();
    write(owner.resolve("recovery-key.pem"), pem("PRIVATE KEY", pair.getPrivate().getEncoded()));
    return Base64.getEncoder()
        .encodeToString(littleEndian(((XECPublicKey) pair.getPublic()).getU()));
  }

  private static byte[] littleEndian(BigInteger number) {
    byte[] big = number.toByteArray();
    byte[] little = new byte[KEY_BYTES];
    for (int i = 0; i < Math.min(big.length, KEY_BYTES); i++) {
      little[i] = big[big.length - 1 - i];
    }
    return little;
  }

  private static String pem(String type, byte[] content) {
    String body = Base64.getMimeEncoder(PEM_COLUMNS, new byte[] {'\n'}).encodeToString(content);
    return "-----BEGIN " + type + "-----\n" + body + "\n-----END " + type + "-----\n";
  }

  private static void write(Path file, String text) throws IOException {
    Files.deleteIfExists(file);
    Files.createFile(
        file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    Files.write(file, text.getBytes(StandardCharsets.UTF_8), StandardOpenOption.WRITE);
  }
}
