"""Sentences that bundles are asked: at export, by `biomux verify`, and to see which runtime is faster. Written for this purpose."""

TEXTS = (
    "Aspirin reduced fever in 12 of 30 patients, but caused gastric ulcers in two.",
    "Mutations of the BRCA1 gene were found in breast tumours of young women.",
    "Mice were given 5 mg/kg of cisplatin; their kidneys showed acute tubular necrosis after 3 days.",
    "HeLa cells were infected with Salmonella enterica and treated with ciprofloxacin.",
    "Phosphorylation of STAT3 by JAK2 was blocked in human T cells.",
    "The liver and spleen of Wistar rats were examined. No lesions were seen.",
    "Interleukin-6 levels rose in serum (p < 0.01), as did those of tumour necrosis factor alpha.",
    "Warfarin-induced bleeding in a 67-year-old man with atrial fibrillation: a case report.",
    "Saccharomyces cerevisiae strains lacking RAD52 are sensitive to ionizing radiation.",
    "This sentence names nothing of interest.",
)
