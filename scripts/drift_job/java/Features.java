import org.apache.kafka.server.common.Feature;
import org.apache.kafka.server.common.FeatureVersion;
import org.apache.kafka.server.common.MetadataVersion;

/** Prints the levels of features: one line for each level, with the one that new clusters get. */
public class Features {
    public static void main(String[] args) {
        MetadataVersion newest = MetadataVersion.latestProduction();
        for (MetadataVersion each : MetadataVersion.VERSIONS) {
            if (each.featureLevel() <= newest.featureLevel())
                System.out.printf("metadata.version %d is %s%n", each.featureLevel(), each);
        }
        System.out.printf("metadata.version: new clusters begin at %d%n", newest.featureLevel());
        for (Feature feature : Feature.PRODUCTION_FEATURES) {
            for (FeatureVersion each : feature.featureVersions()) {
                if (each.featureLevel() <= feature.latestProduction())
                    System.out.printf("%s %d since %s, needs %s%n", feature.featureName(), each.featureLevel(),
                        each.bootstrapMetadataVersion(), each.dependencies());
            }
            System.out.printf("%s: new clusters begin at %d%n", feature.featureName(), feature.defaultLevel(newest));
        }
    }
}
