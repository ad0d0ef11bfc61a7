package dev.polis.storage;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.polis.api.storage.SealedConfiguration;
import dev.polis.api.storage.SealedConfigurationStore;
import dev.polis.api.storage.Sealer;
import dev.polis.api.storage.StorageSecurity;
import dev.polis.files.FileException;
import dev.polis.files.FilePlacement;
import dev.polis.files.Stored;
import dev.polis.logtree.Secret;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Pem;
import dev.polis.pki.PkiException;
import dev.polis.wire.common.NodeStorageSecurity;
import java.util.List;
import java.util.stream.Stream;

/** Reads and writes the sealed configuration: the wire message in a {@link SealedFile}. */
final class SealedConfigurationFile implements SealedConfigurationStore {

  private final FilePlacement placement;
  private final Sealer sealer;
  private final boolean bind;
  private final SealedFile file;

  SealedConfigurationFile(FilePlacement file, Sealer sealer) {
    this(file, sealer, true);
  }

  private SealedConfigurationFile(FilePlacement placement, Sealer sealer, boolean bind) {
    this.placement = placement;
    this.sealer = sealer;
    this.bind = bind;
    this.file = new SealedFile("sealed-configuration", placement, sealer);
  }

  @Override
  public SealedConfigurationStore unbound() {
    return new SealedConfigurationFile(placement, sealer, false);
  }

  @Override
  public void write(SealedConfiguration configuration) throws FileException {
    file.write(encode(configuration), bind && !file.unbound());
  }

  @Override
  public Stored<SealedConfiguration> read() {
    return file.read(SealedConfigurationFile::decode);
  }

  private static byte[] encode(SealedConfiguration configuration) {
    List<ByteString> cas =
        configuration.clusterCa().certificates().stream()
            .map(ca -> ByteString.copyFrom(Pem.der(ca)))
            .toList();
    return dev.polis.wire.sealed.SealedConfiguration.newBuilder()
        .setNodeUnlockKey(ByteString.copyFrom(configuration.nodeUnlockKey().reveal()))
        .setJoinKey(ByteString.copyFrom(configuration.joinKey().reveal()))
        .setClusterCa(cas.getFirst())
        .addAllOtherClusterCas(cas.subList(1, cas.size()))
        .setStorageSecurity(toWire(configuration.security()))
        .build()
        .toByteArray();
  }

  private static SealedConfiguration decode(byte[] plain) {
    try {
      var message = dev.polis.wire.sealed.SealedConfiguration.parseFrom(plain);
      return new SealedConfiguration(
          Secret.of(message.getNodeUnlockKey().toByteArray()),
          Secret.of(message.getJoinKey().toByteArray()),
          cas(message),
          fromWire(message.getStorageSecurity()));
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException("the content is not a sealed configuration", e);
    } catch (PkiException e) {
      throw new IllegalArgumentException(
          "the CA of the cluster in it is not a certificate: " + e.getMessage(), e);
    }
  }

  private static CaBundle cas(dev.polis.wire.sealed.SealedConfiguration message) {
    return new CaBundle(
        Stream.concat(Stream.of(message.getClusterCa()), message.getOtherClusterCasList().stream())
            .map(der -> Pem.certificate(der.toByteArray()))
            .toList());
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
