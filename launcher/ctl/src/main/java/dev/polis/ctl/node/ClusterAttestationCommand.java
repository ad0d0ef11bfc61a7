package dev.polis.ctl.node;

import com.google.protobuf.ByteString;
import com.google.protobuf.FieldMask;
import dev.polis.ctl.owner.OwnerCertificate;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlFiles;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Rows;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.pki.Fingerprint;
import dev.polis.pki.Pem;
import dev.polis.wire.api.ConfigureClusterRequest;
import dev.polis.wire.api.GetClusterInfoRequest;
import dev.polis.wire.cluster.AllowedImage;
import dev.polis.wire.cluster.AttestationPolicy;
import dev.polis.wire.common.ClusterConfiguration;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Groups the commands for what the cluster demands of machines. */
@Command(
    name = "attestation",
    description = {
      "Shows and changes what the cluster demands of the TPM of a machine at its approval.",
      "Without a demand, \"node approve\" and \"node describe\" show what a machine has proved."
    })
@Subcommands({
  ClusterAttestationCommand.Show.class,
  ClusterAttestationCommand.Require.class,
  ClusterAttestationCommand.Relax.class,
  ClusterAttestationCommand.Allow.class,
  ClusterAttestationCommand.Forget.class,
  ClusterAttestationCommand.Trust.class,
  ClusterAttestationCommand.Distrust.class
})
final class ClusterAttestationCommand {

  private static final String FIELD = "attestation";

  private static final Rows<AttestationPolicy> ROWS =
      new Rows<AttestationPolicy>()
          .column("REQUIRED", "required", AttestationPolicy::getRequired)
          .column(
              "IMAGES",
              "images",
              policy ->
                  policy.getImagesList().stream()
                      .map(
                          each ->
                              each.getName()
                                  + "="
                                  + String.join("+", AttestedLines.hex(each.getProgramsList())))
                      .toList())
          .column(
              "TPM AUTHORITIES",
              "tpmAuthorities",
              policy ->
                  policy.getTpmAuthoritiesList().stream()
                      .map(ClusterAttestationCommand::fingerprint)
                      .toList());

  private static String fingerprint(ByteString der) {
    return Fingerprint.of(OwnerCertificate.answered(der)).hex();
  }

  static ClusterConfiguration configuration(Session session) throws InterruptedException {
    GetClusterInfoRequest request = GetClusterInfoRequest.getDefaultInstance();
    return session
        .call(() -> session.management().getClusterInfo(request))
        .getClusterConfiguration();
  }

  /** Changes the demands that the cluster has now, and shows the new ones. */
  abstract static class Change extends SessionCommand {
    abstract AttestationPolicy changed(AttestationPolicy now);

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      ClusterConfiguration now = configuration(session);
      ConfigureClusterRequest request =
          ConfigureClusterRequest.newBuilder()
              .setBaseConfig(now.toBuilder().setAttestation(now.getAttestation()))
              .setNewConfig(now.toBuilder().setAttestation(changed(now.getAttestation())))
              .setUpdateMask(FieldMask.newBuilder().addPaths(FIELD))
              .build();
      return print(
          ROWS.single(
              session
                  .call(() -> session.management().configureCluster(request))
                  .getResultingConfig()
                  .getAttestation()));
    }
  }

  /** The demands. */
  @Command(name = "show", description = "Shows what the cluster demands of machines.")
  static final class Show extends SessionCommand {
    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      return print(ROWS.single(configuration(session).getAttestation()));
    }
  }

  /** Begins to demand. */
  @Command(
      name = "require",
      description = "Lets the cluster approve only machines that satisfy the demands.")
  static final class Require extends Change {
    @Override
    AttestationPolicy changed(AttestationPolicy now) {
      return now.toBuilder().setRequired(true).build();
    }
  }

  /** Ends it. */
  @Command(
      name = "relax",
      description = "Lets the cluster approve any machine again; images and authorities stay.")
  static final class Relax extends Change {
    @Override
    AttestationPolicy changed(AttestationPolicy now) {
      return now.toBuilder().setRequired(false).build();
    }
  }

  /** An image by its measurements. */
  @Command(
      name = "allow",
      description = "Allows an image, in place of one of the same name, by what PCR 4 measures.")
  static final class Allow extends Change {
    @Parameters(index = "0", paramLabel = "NAME", description = "such as 1.4.0")
    String name;

    @Parameters(
        index = "1",
        arity = "1..*",
        paramLabel = "DIGEST",
        description =
            "the SHA-256 of each program, in the order in which \"image build\" prints them")
    List<String> digests;

    @Option(
        names = "--options",
        paramLabel = "DIGEST",
        description = "the SHA-256 of the options that the boot loader gives (PCR 12)")
    List<String> options = List.of();

    @Override
    AttestationPolicy changed(AttestationPolicy now) {
      AllowedImage.Builder image = AllowedImage.newBuilder().setName(name);
      digests.forEach(digest -> image.addPrograms(digest(digest)));
      options.forEach(digest -> image.addOptions(digest(digest)));
      return without(now, name).toBuilder().addImages(image).build();
    }

    private static ByteString digest(String digest) {
      try {
        return ByteString.copyFrom(HexFormat.of().parseHex(digest));
      } catch (IllegalArgumentException e) {
        throw new CtlException(
            ExitCode.USAGE,
            "\"%s\" is no SHA-256 in hexadecimal; copy it from the output of \"image build\""
                .formatted(digest),
            e);
      }
    }
  }

  private static AttestationPolicy without(AttestationPolicy policy, String name) {
    List<AllowedImage> kept =
        policy.getImagesList().stream().filter(each -> !each.getName().equals(name)).toList();
    return policy.toBuilder().clearImages().addAllImages(kept).build();
  }

  /** An image that is not allowed any more. */
  @Command(
      name = "forget",
      description = "Ends the permission of an image; nodes that were approved with it stay.")
  static final class Forget extends Change {
    @Parameters(paramLabel = "NAME", description = "the name of the image")
    String name;

    @Override
    AttestationPolicy changed(AttestationPolicy now) {
      AttestationPolicy kept = without(now, name);
      if (kept.getImagesCount() == now.getImagesCount()) {
        throw new CtlException(
            ExitCode.NOT_FOUND,
            "the cluster allows no image \"%s\"; it allows %s"
                .formatted(name, now.getImagesList().stream().map(AllowedImage::getName).toList()));
      }
      return kept;
    }
  }

  /** An authority of TPMs. */
  @Command(
      name = "trust",
      description =
          "Names an authority of TPMs: machines need a TPM whose certificate one of them has issued.")
  static final class Trust extends Change {
    @Parameters(paramLabel = "FILE", description = "its certificate in PEM")
    Path file;

    @Override
    AttestationPolicy changed(AttestationPolicy now) {
      String remedy = "give the certificate that has issued those of the TPMs, in PEM";
      ByteString authority =
          ByteString.copyFrom(
              Pem.der(
                  CtlFiles.parse(
                      file,
                      CtlFiles.read(file, remedy),
                      Pem::certificate,
                      "certificate in PEM",
                      remedy)));
      return now.getTpmAuthoritiesList().contains(authority)
          ? now
          : now.toBuilder().addTpmAuthorities(authority).build();
    }
  }

  /** An authority that is not trusted any more. */
  @Command(name = "distrust", description = "Forgets an authority of TPMs.")
  static final class Distrust extends Change {
    @Parameters(paramLabel = "FINGERPRINT", description = "as \"show\" prints it")
    String fingerprint;

    @Override
    AttestationPolicy changed(AttestationPolicy now) {
      List<ByteString> kept = new ArrayList<>(now.getTpmAuthoritiesList());
      if (!kept.removeIf(each -> fingerprint(each).equals(fingerprint))) {
        throw new CtlException(
            ExitCode.NOT_FOUND,
            "the cluster names no authority of TPMs with the fingerprint %s; they are %s"
                .formatted(
                    fingerprint,
                    kept.stream().map(ClusterAttestationCommand::fingerprint).toList()));
      }
      return now.toBuilder().clearTpmAuthorities().addAllTpmAuthorities(kept).build();
    }
  }
}
