package dev.polis.storage;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.SealedConfigurationStore;
import dev.polis.api.storage.Sealer;
import dev.polis.api.storage.StorageException;
import dev.polis.api.storage.StorageException.Refusal;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.files.FileException;
import dev.polis.files.FileException.Problem;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.logtree.Secret;
import dev.polis.wire.common.NodeStorageSecurity;
import java.io.ByteArrayInputStream;
import java.security.cert.CertificateEncodingException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.Map;

/**
 * Reads and writes the sealed configuration: the sealed wire message in an {@link Envelope} that
 * names the sealer.
 */
final class SealedConfigurationFile implements SealedConfigurationStore {

  private static final String KIND = "sealed-configuration";
  private static final String SEALER = "sealer";

  private final FilePlacement file;
  private final Sealer sealer;

  SealedConfigurationFile(FilePlacement file, Sealer sealer) {
    this.file = file;
    this.sealer = sealer;
  }

  @Override
  public void write(SealedConfiguration configuration) throws FileException {
    byte[] plain = encode(configuration);
    try {
      byte[] sealed = sealer.seal(plain);
      file.write(new Envelope(KIND, Map.of(SEALER, sealer.name()), sealed).encode());
    } finally {
      Arrays.fill(plain, (byte) 0);
    }
  }

  @Override
  public Stored<SealedConfiguration> read() {
    return file.read().map(bytes -> Envelope.decode(KIND, bytes, SEALER)).then(this::unseal);
  }

  private Stored<SealedConfiguration> unseal(Envelope envelope) {
    try {
      String by = envelope.field(SEALER);
      if (!by.equals(sealer.name())) {
        return unreadable(
            new StorageException(
                Refusal.UNSUPPORTED,
                "%s is sealed by \"%s\", this node has \"%s\"".formatted(file, by, sealer.name()),
                "start the node on the machine and with the bundles that sealed the file; nothing was changed"));
      }
      byte[] plain = sealer.unseal(envelope.payload());
      try {
        return new Stored.Present<>(file.path(), decode(plain));
      } finally {
        Arrays.fill(plain, (byte) 0);
      }
    } catch (FileException e) {
      return e.problem() == Problem.CORRUPTED
          ? new Stored.Corrupted<>(file.path(), e.getMessage())
          : unreadable(e);
    }
  }

  private Stored<SealedConfiguration> unreadable(FileException cause) {
    return new Stored.Unreadable<>(file.path(), cause.getMessage(), cause);
  }

  private static byte[] encode(SealedConfiguration configuration) throws FileException {
    try {
      return dev.polis.wire.sealed.SealedConfiguration.newBuilder()
          .setNodeUnlockKey(ByteString.copyFrom(configuration.nodeUnlockKey().reveal()))
          .setJoinKey(ByteString.copyFrom(configuration.joinKey().reveal()))
          .setClusterCa(ByteString.copyFrom(configuration.clusterCa().getEncoded()))
          .setStorageSecurity(toWire(configuration.security()))
          .build()
          .toByteArray();
    } catch (CertificateEncodingException e) {
      throw new FileException(
          Problem.CORRUPTED,
          "the cluster's CA certificate cannot be encoded",
          "enrol the node again with the CA of the cluster; nothing was changed",
          e);
    }
  }

  private static SealedConfiguration decode(byte[] plain) {
    try {
      var message = dev.polis.wire.sealed.SealedConfiguration.parseFrom(plain);
      return new SealedConfiguration(
          Secret.of(message.getNodeUnlockKey().toByteArray()),
          Secret.of(message.getJoinKey().toByteArray()),
          certificate(message.getClusterCa().toByteArray()),
          fromWire(message.getStorageSecurity()));
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException("the content is not a sealed configuration", e);
    } catch (CertificateException e) {
      throw new IllegalArgumentException(
          "the CA of the cluster in it is not a certificate: " + e.getMessage(), e);
    }
  }

  private static X509Certificate certificate(byte[] der) throws CertificateException {
    return (X509Certificate)
        CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(der));
  }

  static NodeStorageSecurity toWire(StorageSecurity security) {
    return switch (security) {
      case INSECURE -> NodeStorageSecurity.NODE_STORAGE_SECURITY_INSECURE;
      case ENCRYPTED -> NodeStorageSecurity.NODE_STORAGE_SECURITY_ENCRYPTED;
      case AUTHENTICATED_ENCRYPTED ->
          NodeStorageSecurity.NODE_STORAGE_SECURITY_AUTHENTICATED_ENCRYPTED;
    };
  }

  private static StorageSecurity fromWire(NodeStorageSecurity security) {
    return switch (security) {
      case NODE_STORAGE_SECURITY_INSECURE -> StorageSecurity.INSECURE;
      case NODE_STORAGE_SECURITY_ENCRYPTED -> StorageSecurity.ENCRYPTED;
      case NODE_STORAGE_SECURITY_AUTHENTICATED_ENCRYPTED -> StorageSecurity.AUTHENTICATED_ENCRYPTED;
      case NODE_STORAGE_SECURITY_INVALID, UNRECOGNIZED ->
          throw new IllegalArgumentException(
              "the storage security in it is unknown; a newer version may have written it");
    };
  }
}
